"""A BERT whose attention looks left only: what it sees, what it sums up, and that it stays so."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
import torch
from bert_samples import ANSWER, exported, fresh
from objective_samples import flat
from transformers import BertForQuestionAnswering, BertModel

from benchrunner import CheckpointError
from benchrunner.methods.heads import LinearHead
from benchrunner_bert.configuration import Configuration
from benchrunner_kinds import Span

CPU = torch.device("cpu")
NEAR = 1e-5
LEFT = "left-to-right"


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("direction", ["both", LEFT])
def test_summaries_need_no_other_tokens_in_the_last_layer(direction: str, layers: int) -> None:
    bert = fresh(direction=direction, layers=layers).double()
    given, gradients = flat(bert, multiple=16), []
    for compute in (bert.summarized, lambda batch: bert.summary(bert(batch), batch)):
        bert.zero_grad()
        summaries = compute(given)
        summaries.square().sum().backward()
        gradients.append([summaries, *(weight.grad for weight in bert.parameters())])
    for less, whole in zip(*gradients, strict=True):
        torch.testing.assert_close(less, whole, rtol=1e-9, atol=1e-12)


def test_transformers_computes_the_same_left_to_right_states(tmp_path: Path) -> None:
    bert = fresh(direction=LEFT)
    bert.save(tmp_path)
    theirs = BertModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    assert theirs.config.is_decoder
    given = flat(bert)
    with torch.no_grad():
        states, summaries = bert(given), bert.summary(bert(given), given)
        for row, (start, stop) in enumerate(itertools.pairwise(given.starts.tolist())):
            inputs = {"input_ids": given.tokens[None, start:stop], "token_type_ids": given.segments[None, start:stop]}
            wanted = theirs(**inputs).last_hidden_state
            torch.testing.assert_close(states[start:stop], wanted[0], rtol=0, atol=NEAR)
            # Their pooler reads the first token's state, ours the last one's.
            pooled = theirs.pooler(wanted.flip(1))[0]
            torch.testing.assert_close(summaries[row], pooled, rtol=0, atol=NEAR)


def test_a_config_in_another_librarys_words_alone_is_refused(tmp_path: Path) -> None:
    """A decoder of theirs may have layers over another model's states, and its summary is not ours."""
    fresh(direction=LEFT).save(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    for change, message in (
        ({"attention_direction": "both"}, "is_decoder is True"),
        ({"attention_direction": "up"}, "attention_direction is 'up'; both or left-to-right was"),
        ({"attention_direction": ["both"]}, r"attention_direction is \['both'\]"),
    ):
        path.write_text(json.dumps(config | change))
        with pytest.raises(CheckpointError, match=message):
            Configuration.read(path)


def test_left_to_right_models_export_span_heads_not_classifiers(tmp_path: Path) -> None:
    bert = fresh(direction=LEFT)
    head = LinearHead(bert.hidden_size, ANSWER.head, seed=0)
    with pytest.raises(CheckpointError, match="kind 'single_label_classification' on a left-to-right BERT"):
        bert.save(tmp_path / "classifier", exported(head, ANSWER))
    assert not (tmp_path / "classifier").exists()
    span = Span(unanswerable=False)
    head = LinearHead(bert.hidden_size, span.head, seed=0)
    bert.save(tmp_path / "span", exported(head, span))
    theirs = BertForQuestionAnswering.from_pretrained(tmp_path / "span").eval()
    given = flat(bert, pairs=False)
    start, stop = given.starts[-2:].tolist()
    with torch.no_grad():
        logits = theirs(input_ids=given.tokens[None, start:stop]).start_logits[0]
        torch.testing.assert_close(head(bert, given)[start:stop, 0], logits, rtol=0, atol=NEAR)
