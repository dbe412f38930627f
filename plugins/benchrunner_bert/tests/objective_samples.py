"""Models and batches for the tests of pre-training, and the batches and gradients of transformers to compare with."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import torch
from bert_samples import FIRST, SECOND, encoded, fresh
from torch import nn

from benchrunner.engine import Dropout, FlatBatch, collate
from benchrunner.features.randomness import generator
from benchrunner_bert.model import Bert
from benchrunner_bert.pretraining.corpus.manifest import Manifest, Plan
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import named
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.pretraining.training.sums import Sums
from benchrunner_bert.weight_names import published_names

CPU = torch.device("cpu")
PLAN = Plan((), tokenizer="none", vocabulary=8000, lowercase=True, blank_lines=1)
CORPUS = Manifest(PLAN, documents=2, sentences=9_000, tokens=300_000)
SHAPES = [{}, {"hidden": 30, "heads": 5, "layers": 3, "inner": 41, "positions": 71, "vocabulary": 8017}]
"""Shapes of models: the default, and a shape whose sizes are no multiples of 8."""


def model(objective: str, **changes: Any) -> PretrainingModel:
    """Return a model with random weights, biases and norms included, so that swapped weights change the results."""
    whole = PretrainingModel(fresh(direction=named(objective).direction, **changes), named(objective))
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
    spans = list(itertools.pairwise(batch.flat.starts.tolist()))
    shape = len(spans), max(stop - start for start, stop in spans)
    names = ("input_ids", "token_type_ids", "position_ids", "attention_mask")
    inputs = {**{name: torch.zeros(shape, dtype=torch.int64) for name in names}, "labels": torch.full(shape, -100)}
    labels = torch.full((len(batch.flat.tokens),), -100)
    labels[batch.positions] = batch.labels
    for row, (start, stop) in enumerate(spans):
        inputs["input_ids"][row, : stop - start] = batch.flat.tokens[start:stop]
        inputs["token_type_ids"][row, : stop - start] = batch.flat.segments[start:stop]
        inputs["position_ids"][row, : stop - start] = batch.flat.positions[start:stop]
        inputs["attention_mask"][row, : stop - start] = 1
        inputs["labels"][row, : stop - start] = labels[start:stop]
    return inputs


def gradients(whole: PretrainingModel, model: nn.Module) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Pair the gradients of our model and of transformers', by our names; both models have the same gradients."""
    mine = {name: weight.grad for name, weight in whole.named_parameters()}
    wanted = {name: weight.grad for name, weight in model.named_parameters()}
    renamed = {
        "tokens.dense.weight": ["cls.predictions.transform.dense.weight"],
        "tokens.dense.bias": ["cls.predictions.transform.dense.bias"],
        "tokens.norm.weight": ["cls.predictions.transform.LayerNorm.weight"],
        "tokens.norm.bias": ["cls.predictions.transform.LayerNorm.bias"],
        "tokens.output.bias": ["cls.predictions.bias"],
        "next_sentence.weight": ["cls.seq_relationship.weight"],
        "next_sentence.bias": ["cls.seq_relationship.bias"],
    }
    for ours, theirs in published_names(whole.bert):
        renamed[f"bert.{ours}"] = [f"bert.{name}" for name in theirs]
    pairs, names = {}, set()
    for ours, theirs in renamed.items():
        if all(wanted.get(name) is not None for name in theirs):
            pairs[ours] = mine[ours], torch.cat([wanted[name] for name in theirs])
            names |= set(theirs)
    assert names == {name for name, gradient in wanted.items() if gradient is not None}
    assert pairs.keys() == {name for name, gradient in mine.items() if gradient is not None}
    return pairs


def forward_and_backward(whole: PretrainingModel, given: PretrainingBatch) -> tuple[Sums, torch.Tensor]:
    """Return the sums and the mean loss of a batch; leave the gradients of the mean loss in the weights."""
    sums = whole(given)
    loss = sums.loss(len(given.labels), len(given.is_next) if whole.objective.next_sentence else 0)
    loss.backward()
    return sums, loss.detach()


def micro_batches(given: PretrainingBatch) -> list[PretrainingBatch]:
    """Return each block of equally long sequences as a batch of its own."""
    starts, batches = given.flat.starts.long(), []
    for block in given.flat.blocks:
        span, chosen = slice(block.start, block.stop), (block.start <= given.positions) & (given.positions < block.stop)
        rows = (starts[:-1] >= block.start) & (starts[:-1] < block.stop)
        inner = dataclasses.replace(
            given.flat,
            tokens=given.flat.tokens[span],
            segments=given.flat.segments[span],
            positions=given.flat.positions[span],
            starts=torch.arange(0, block.count * block.length + 1, block.length, dtype=torch.int32),
            blocks=(dataclasses.replace(block, start=0),),
        )
        batches.append(
            PretrainingBatch(
                inner,
                given.positions[chosen] - block.start,
                given.labels[chosen],
                given.is_next[rows],
            )
        )
    return batches
