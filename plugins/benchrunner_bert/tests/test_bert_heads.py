"""States, logits, losses and gradients are those of transformers, with heads of every kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from bert_samples import FIRST, SECOND, encoded, exported, fresh, minilm, padded, turn_into_gradients
from torch import nn
from transformers import (
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    BertModel,
)

from benchrunner import CheckpointError, Recipe
from benchrunner.engine import Dropout, ExportedHead, ExportKind, Features, collate
from benchrunner.methods.heads import LinearHead
from benchrunner_bert.checkpoint import read
from benchrunner_bert.model import Bert
from benchrunner_bert.weight_names import published_weights
from kinds_of_tasks import PROBLEMS
from meta_device import features_of_kind

CPU = torch.device("cpu")
NEAR = 1e-5


PUBLISHED = {
    "classify": (BertForSequenceClassification, "single_label_classification"),
    "labels": (BertForSequenceClassification, "multi_label_classification"),
    "regress": (BertForSequenceClassification, "regression"),
    "choose": (BertForMultipleChoice, None),
    "span": (BertForQuestionAnswering, None),
    "tag": (BertForTokenClassification, None),
}
"""Kind of a task -> the class of transformers for its head, and the name of the problem there."""


@pytest.mark.parametrize("kind", PUBLISHED)
def test_outputs_and_all_gradients_equal_the_published_class(kind: str, tmp_path: Path) -> None:
    ours, problem, (published, name) = fresh(), PROBLEMS[kind], PUBLISHED[kind]
    ours.set_dropout(0.0)
    features = features_of_kind(kind, ours, Recipe(max_length=40, context="sentence"))
    head = LinearHead(ours.hidden_size, problem.head, seed=1)
    nn.init.normal_(head.output.bias, generator=torch.Generator().manual_seed(1))
    ours.save(tmp_path, exported(head, problem))
    other = published.from_pretrained(tmp_path).eval()
    assert other.config.problem_type == name
    if hasattr(problem, "labels"):
        assert other.config.id2label == dict(enumerate(problem.labels))
    batch = collate(features, np.arange(features.units), CPU)
    outputs = head(ours, batch)
    inputs = padded(features, np.arange(len(features.lengths)))
    if kind == "choose":
        inputs = {key: rows.view(features.units, 2, -1) for key, rows in inputs.items()}
    found = other(**inputs)
    wanted = torch.stack([found.start_logits, found.end_logits], -1) if kind == "span" else found.logits
    if not problem.head.reads_summary:
        order = batch.restore.argsort()
        wanted = wanted[order][inputs["attention_mask"][order].bool()]
    wanted = wanted.view_as(outputs)
    torch.testing.assert_close(outputs, wanted, rtol=0, atol=NEAR)
    factors = torch.randn(outputs.shape, generator=torch.Generator().manual_seed(2))
    (outputs * factors).mean().backward()
    (wanted * factors).mean().backward()
    last = "qa_outputs" if kind == "span" else "classifier"
    mine = {f"{last}.{part}": weight.grad for part, weight in head.output.named_parameters()}
    turn_into_gradients(ours)
    mine |= published_weights(ours)
    compared = {key.removeprefix("bert."): weight.grad for key, weight in other.named_parameters()}
    assert len(compared) > 30
    for key, gradient in compared.items():
        torch.testing.assert_close(mine[key], gradient, rtol=0, atol=NEAR, msg=key)


@pytest.mark.parametrize(
    ("name", "reads_summary", "reason"),
    [
        ("ranking", True, "has a head of the kind 'ranking'; there are single_label_classification, multi_label"),
        ("token_classification", True, "BertForTokenClassification reads the states of the tokens, this head does not"),
    ],
)
def test_a_head_that_nobody_computes_is_refused(name: str, reads_summary: bool, reason: str, tmp_path: Path) -> None:
    model = fresh()
    weights = {"weight": torch.zeros(2, model.hidden_size), "bias": torch.zeros(2)}
    with pytest.raises(CheckpointError, match=reason):
        model.save(tmp_path / "out", ExportedHead(weights, ExportKind(name), reads_summary))
    assert not (tmp_path / "out").exists()


@torch.no_grad()
def check_states(ours: Bert, folder: Path, features: Features, *, dropped: bool = False) -> None:
    """Compare the states after every layer and the pooled output with those of transformers."""
    other = BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    inputs = padded(features, np.arange(features.units))
    wanted = other(**inputs, output_hidden_states=True)
    # A rate of almost nothing sends attention through the implementation that training uses.
    batch = collate(features, np.arange(features.units), CPU, dropout=Dropout(0, 0) if dropped else None)
    ours.set_dropout(0.0)
    ours.attention_dropout = 1e-9 if dropped else 0.0
    states = list(ours.hidden_states(batch))
    order = batch.restore.argsort()
    real = inputs["attention_mask"][order].bool()
    for mine, layer in zip(states, wanted.hidden_states, strict=True):
        torch.testing.assert_close(mine, layer[order][real], rtol=NEAR, atol=NEAR)
    pooled = ours.summary(states[-1], batch)
    torch.testing.assert_close(pooled, wanted.pooler_output[order], rtol=0, atol=NEAR)


@pytest.mark.parametrize("dropped", [False, True], ids=["predicting", "training"])
@pytest.mark.parametrize("second", [None, SECOND], ids=["texts", "pairs"])
def test_released_model_layers_and_pooler_equal_transformers(second: list[str] | None, dropped: bool) -> None:
    ours = read(minilm(), seed=0)
    features = encoded(ours, FIRST, second, max_length=128)
    assert len(set(features.lengths.tolist())) > 3
    check_states(ours, minilm(), features, dropped=dropped)


SHAPES = [
    {"hidden": 30, "heads": 5, "layers": 1, "activation": "relu", "inner": 40},
    {"hidden": 24, "heads": 24, "layers": 3, "activation": "gelu_new", "epsilon": 1e-5},
    {"activation": "gelu_pytorch_tanh", "segments": 3, "positions": 80, "vocabulary": 8017},
]


@pytest.mark.parametrize("changes", SHAPES, ids=str)
def test_a_model_saved_here_is_the_same_in_transformers(tmp_path: Path, changes: dict[str, int]) -> None:
    ours = fresh(**changes)
    ours.save(tmp_path)
    check_states(ours, tmp_path, encoded(ours, FIRST, SECOND))
    again = read(tmp_path, seed=0)
    assert again.config == ours.config and again.notes == ()
    assert all(torch.equal(one, again.state_dict()[name]) for name, one in ours.state_dict().items())
