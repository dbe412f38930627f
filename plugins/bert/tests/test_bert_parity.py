"""The numbers are those of an independent implementation: transformers."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from bert_samples import ANSWER, FIRST, SECOND, encoded, exported, fresh, minilm, padded
from transformers import AutoTokenizer, BertForSequenceClassification, BertModel

from benchrunner.engine import Dropout, Features, collate
from benchrunner.methods.heads import LinearHead
from benchrunner_bert.checkpoint import read
from benchrunner_bert.model import Bert

CPU = torch.device("cpu")
NEAR = 1e-5
"""Between the hidden states of the two, in fp32; of the state itself where that is larger than one."""


def theirs(folder: Path) -> BertModel:
    return BertModel.from_pretrained(folder, attn_implementation="eager").eval()


def largest_difference(ours: Bert, other: BertModel, features: Features, *, dropped: bool = False) -> float:
    """Over the states after every layer and the pooled output."""
    units = np.arange(features.units)
    # A rate of almost nothing sends attention through the implementation that training uses.
    dropout = Dropout(0, 0) if dropped else None
    batch = collate(features, units, CPU, dropout=dropout)
    ours.set_dropout(0.0)
    ours.attention_dropout = 1e-9 if dropped else 0.0
    wanted = other(**padded(features, units), output_hidden_states=True)
    with torch.no_grad():
        states = list(ours.hidden_states(batch))
        pooled = ours.summary(states[-1], batch)[batch.restore]
    assert len(states) == len(wanted.hidden_states) == ours.config.layers + 1
    worst = (pooled - wanted.pooler_output).abs().max().item()
    borders = list(itertools.pairwise(batch.starts.tolist()))
    for unit, place in enumerate(batch.restore.tolist()):
        start, stop = borders[place]
        for mine, other_states in zip(states, wanted.hidden_states, strict=True):
            wanted_states = other_states[unit, : stop - start]
            difference = (mine[start:stop] - wanted_states).abs() / wanted_states.abs().clamp(min=1.0)
            worst = max(worst, difference.max().item())
    return worst


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("dropped", [False, True])
def test_released_model_layers_and_pooler_equal_transformers(pairs: bool, dropped: bool) -> None:
    ours, other = read(minilm(), seed=0), theirs(minilm())
    features = encoded(ours, FIRST, SECOND if pairs else None, max_length=128)
    assert len(set(features.lengths.tolist())) > 3
    with torch.no_grad():
        assert largest_difference(ours, other, features, dropped=dropped) < NEAR


SHAPES = [
    {"hidden": 96, "heads": 3, "layers": 2},
    {"hidden": 30, "heads": 5, "layers": 1},
    {"hidden": 32, "heads": 1, "layers": 3},
    {"hidden": 24, "heads": 24, "layers": 1},
    {"activation": "relu", "inner": 40},
    {"activation": "gelu_new", "epsilon": 1e-5},
    {"activation": "gelu_pytorch_tanh"},
    {"segments": 3, "positions": 80, "vocabulary": 8017},
]


@pytest.mark.parametrize("changes", SHAPES, ids=str)
def test_a_model_saved_here_is_the_same_in_transformers(tmp_path: Path, changes: dict[str, int]) -> None:
    ours = fresh(**changes)
    ours.save(tmp_path)
    other = theirs(tmp_path)
    features = encoded(ours, FIRST, SECOND)
    with torch.no_grad():
        assert largest_difference(ours, other, features) < NEAR
    again = read(tmp_path, seed=0)
    assert again.config == ours.config and again.notes == ()
    assert all(torch.equal(one, again.state_dict()[name]) for name, one in ours.state_dict().items())


def test_a_model_saved_by_transformers_is_the_same_here(tmp_path: Path) -> None:
    fresh().save(tmp_path / "ours")
    other = theirs(tmp_path / "ours")
    other.save_pretrained(tmp_path / "theirs")
    AutoTokenizer.from_pretrained(tmp_path / "ours").save_pretrained(tmp_path / "theirs")
    again = read(tmp_path / "theirs", seed=0)
    features = encoded(again, FIRST, SECOND)
    with torch.no_grad():
        assert largest_difference(again, other, features) < NEAR


def test_an_exported_classifier_has_equal_logits_in_transformers(tmp_path: Path) -> None:
    ours = fresh()
    head = LinearHead(ours.hidden_size, ANSWER.head, seed=3)
    torch.nn.init.normal_(head.output.bias, generator=torch.Generator().manual_seed(1))
    ours.save(tmp_path, exported(head, ANSWER))
    other = BertForSequenceClassification.from_pretrained(tmp_path).eval()
    assert other.config.id2label == {0: "entailment", 1: "not_entailment"}
    assert other.config.label2id == {"entailment": 0, "not_entailment": 1}
    assert other.config.problem_type == "single_label_classification"
    features = encoded(ours, FIRST, SECOND)
    units = np.arange(features.units)
    with torch.no_grad():
        mine = head(ours, collate(features, units, CPU))
        torch.testing.assert_close(mine, other(**padded(features, units)).logits, rtol=0, atol=NEAR)
    again = read(tmp_path, seed=0)
    assert again.notes == (
        "left out of model.safetensors: a head of another task (classifier.bias, classifier.weight)",
    )
