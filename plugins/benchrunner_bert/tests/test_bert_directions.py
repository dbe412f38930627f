"""A BERT whose attention looks left only: what it sees, what it sums up, and that it stays so."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from bert_samples import ANSWER, encoded, exported, fresh
from objective_samples import flat
from torch.nn import functional
from transformers import BertForQuestionAnswering, BertModel

from benchrunner import CheckpointError, Workspace
from benchrunner.engine import Dropout, FlatBatch, collate
from benchrunner.methods.heads import LinearHead
from benchrunner.workspace import Settings
from benchrunner_bert.backbones import BertCheckpoint
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.family import BertFamily
from benchrunner_bert.model import Bert
from benchrunner_kinds import Span

CPU = torch.device("cpu")
NEAR = 1e-5
LEFT = "left-to-right"


def sentence(bert: Bert, tokens: list[int]) -> FlatBatch:
    """One sequence of given tokens."""
    made = encoded(bert, ["a"])
    few = len(tokens)
    features = dataclasses.replace(
        made,
        tokens=np.array(tokens, dtype=np.int32),
        segments=np.zeros(few, dtype=np.int8),
        starts=np.array([0, few], dtype=np.int64),
    )
    return collate(features, np.arange(1), CPU)


@pytest.mark.parametrize("dropped", [False, True], ids=["predicting", "training"])
def test_a_token_changes_states_on_one_side_and_the_summary(dropped: bool) -> None:
    bert = fresh(direction=LEFT, layers=3)
    bert.set_dropout(0.1)
    tokens = [2, 100, 200, 300, 400, 3]
    for place in range(1, 6):
        given = [sentence(bert, tokens), sentence(bert, [*tokens[:place], 500, *tokens[place + 1 :]])]
        if dropped:
            given = [dataclasses.replace(batch, dropout=Dropout(1, 2)) for batch in given]
        with torch.no_grad():
            states = [list(bert.hidden_states(batch)) for batch in given]
            summaries = [bert.summary(layers[-1], batch) for layers, batch in zip(states, given, strict=True)]
        for before, after in zip(*states, strict=True):
            assert torch.equal(before[:place], after[:place])
        assert (states[0][-1][place:] != states[1][-1][place:]).any(-1).all()
        assert not torch.allclose(*summaries)


def reference(bert: Bert, given: FlatBatch) -> torch.Tensor:
    """The last states, one sequence after the other, with a mask added before the softmax."""
    weights, rows = dict(bert.named_parameters()), []
    for start, stop in itertools.pairwise(given.starts.tolist()):
        span, length = slice(start, stop), stop - start
        hidden = bert.embeddings(dataclasses.replace(given, **{
            name: getattr(given, name)[span] for name in ("tokens", "segments", "positions")
        }), 0.0)  # fmt: skip
        mask = torch.full((length, length), -torch.inf).triu(1)
        for at in range(bert.config.layers):
            name = f"layers.{at}."

            def linear(x: torch.Tensor, part: str, name: str = name) -> torch.Tensor:
                return x @ weights[f"{name}{part}.weight"].T + weights[f"{name}{part}.bias"]

            def norm(x: torch.Tensor, part: str, name: str = name) -> torch.Tensor:
                scaled = (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-12) ** 0.5
                return scaled * weights[f"{name}{part}.weight"] + weights[f"{name}{part}.bias"]

            query, key, value = linear(hidden, "qkv").view(length, 3, bert.config.heads, -1).permute(1, 2, 0, 3)
            scores = query @ key.transpose(1, 2) / query.shape[-1] ** 0.5 + mask
            context = (scores.softmax(-1) @ value).transpose(0, 1).reshape(length, -1)
            hidden = norm(hidden + linear(context, "attention_output"), "attention_norm")
            hidden = norm(hidden + linear(functional.gelu(linear(hidden, "inner")), "output"), "output_norm")
        rows.append(hidden)
    return torch.cat(rows)


@pytest.mark.parametrize("dropped", [False, True], ids=["predicting", "training"])
def test_every_kernel_equals_a_masked_softmax(dropped: bool) -> None:
    bert = fresh(direction=LEFT, layers=3)
    bert.set_dropout(0.0)
    bert.attention_dropout = 1e-9 if dropped else 0.0
    given = flat(bert, dropout=Dropout(0, 0) if dropped else None, multiple=16)
    assert len(given.blocks) > 2 and len(given.tokens) > given.real
    with torch.no_grad():
        torch.testing.assert_close(bert(given)[: given.real], reference(bert, given), rtol=0, atol=NEAR)


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


def test_the_restriction_is_saved_read_and_part_of_the_revision(tmp_path: Path) -> None:
    both, one_way = fresh(), fresh(direction=LEFT)
    both.save(tmp_path / "both")
    one_way.save(tmp_path / "one-way")
    config = json.loads((tmp_path / "one-way" / "config.json").read_text())
    assert config["attention_direction"] == LEFT and config["is_decoder"]
    assert "attention_direction" not in json.loads((tmp_path / "both" / "config.json").read_text())
    workspace = Workspace(runs=tmp_path, cache=tmp_path / "cache", settings=Settings(offline=True))
    backbones = [BertFamily().find(str(tmp_path / name), workspace) for name in ("both", "one-way")]
    assert all(isinstance(backbone, BertCheckpoint) for backbone in backbones)
    assert len({backbone.revision(workspace) for backbone in backbones}) == 2
    again = backbones[1].load(workspace, seed=0)
    assert again.config == one_way.config and again.config.direction == LEFT and again.notes == ()
    given = flat(one_way)
    with torch.no_grad():
        assert torch.equal(again(given), one_way(given)) and not torch.allclose(again(given), both(given))


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
    path.write_text(json.dumps({name: value for name, value in config.items() if name != "is_decoder"}))
    assert Configuration.read(path).direction == LEFT


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
