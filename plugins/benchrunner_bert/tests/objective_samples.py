"""Models and batches for the tests of pre-training, and the batches and gradients of transformers to compare with."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import torch
from bert_samples import FIRST, SECOND, encoded, fresh, rows

from benchrunner.engine import Dropout, FlatBatch, collate
from benchrunner.features.randomness import generator
from benchrunner_bert.model import Bert
from benchrunner_bert.pretraining.corpus.manifest import Manifest, Plan
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.pretraining.training.sums import Sums

CPU = torch.device("cpu")
PLAN = Plan((), tokenizer="none", vocabulary=8000, lowercase=True, blank_lines=1)
CORPUS = Manifest(PLAN, documents=2, sentences=9_000, tokens=300_000)
SHAPES = [{}, {"hidden": 30, "heads": 5, "layers": 3, "inner": 41, "positions": 71, "vocabulary": 8017}]
"""Shapes of models: the default, and a shape whose sizes are no multiples of 8."""


def model(objective: str, **changes: Any) -> PretrainingModel:
    """Return a model with random weights, biases and norms included, so that swapped weights change the results."""
    whole = PretrainingModel(fresh(direction=OBJECTIVES[objective].direction, **changes), OBJECTIVES[objective])
    source = generator(6, "test")
    with torch.no_grad():
        for name, weight in whole.named_parameters():
            if not name.startswith("bert."):
                weight.normal_(1.0 if "norm.weight" in name else 0.0, 0.1, generator=source)
    whole.bert.set_dropout(0.0)
    return whole


def flat(bert: Bert, *, dropout: Dropout | None = None, pairs: bool = True, multiple: int = 1) -> FlatBatch:
    features = encoded(bert, FIRST, SECOND if pairs else None)
    return collate(features, np.arange(features.units), CPU, dropout=dropout, multiple=multiple)


def batch(whole: PretrainingModel, **settings: Any) -> PretrainingBatch:
    """Return a batch in which some tokens of every sequence are masked, replaced or kept and predicted.

    With the objective `ltr`, every token is predicted from the one before it.
    """
    made = flat(whole.bert, **settings)
    borders = made.starts.tolist()
    if not whole.objective.is_masked:
        lefts = torch.tensor([at for start, stop in itertools.pairwise(borders) for at in range(start, stop - 1)])
        none = torch.full((len(borders) - 1,), -1)
        return PretrainingBatch(made, lefts, made.tokens[lefts + 1], none)
    source = torch.Generator().manual_seed(1)
    real = torch.arange(made.real)
    chosen = real[(made.tokens[: made.real] > 4) & (torch.rand(made.real, generator=source) < 0.3)]
    tokens = made.tokens.clone()
    tokens[chosen[::3]], tokens[chosen[1::3]] = 4, 1000
    sequences = torch.arange(len(borders) - 1)
    is_next = sequences % 2 if whole.objective.next_sentence else torch.full_like(sequences, -1)
    return PretrainingBatch(dataclasses.replace(made, tokens=tokens), chosen, made.tokens[chosen], is_next)


def padded(batch: PretrainingBatch) -> dict[str, torch.Tensor]:
    """Return the batch as transformers reads it: a row for each sequence, in the order of the flat batch."""
    flat, labels = batch.flat, torch.zeros(len(batch.flat.tokens), dtype=torch.int64)
    labels[batch.positions] = batch.labels + 100  # so that what is padded is -100 in the end
    sizes = flat.starts.diff().tolist()
    columns = {"input_ids": flat.tokens, "token_type_ids": flat.segments, "position_ids": flat.positions}
    inputs = rows(
        {name: list(column[: flat.real].split(sizes)) for name, column in (columns | {"labels": labels}).items()}
    )
    return inputs | {"labels": inputs["labels"] - 100}


def forward_and_backward(whole: PretrainingModel, given: PretrainingBatch) -> tuple[Sums, torch.Tensor]:
    """Return the sums and the mean loss of a batch; leave the gradients of the mean loss in the weights."""
    sums = whole(given)
    loss = sums.loss(len(given.labels), len(given.is_next) if whole.objective.next_sentence else 0)
    loss.backward()
    return sums, loss.detach()
