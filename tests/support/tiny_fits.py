"""Trainings of the tiny encoder, for comparisons. Every step is logged."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import torch

import benchrunner.training.loop
from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.fits.computing import Computing
from benchrunner.methods.heads import LinearHead
from benchrunner.parameters.recipes import Recipe
from benchrunner.problems.problem import Problem
from benchrunner.training.checkpoints import Checkpoint
from benchrunner.training.embedding_rows import WordsInUse
from benchrunner.training.loop import Training
from benchrunner_kit.testing import MOOD, TinyEncoder, sentences

CPU = torch.device("cpu")
RECIPE = Recipe(lr=5e-3, epochs=3, batch_size=8)
Model = Callable[[FlatBatch], torch.Tensor]


def features(count: int, *, seed: int = 0, shortest: int = 3, longest: int = 14) -> Features:
    """Encode made-up sentences with their labels, for training."""
    table = pa.table(sentences(count, seed=seed, shortest=shortest, longest=longest))
    return MOOD.encode(table, TinyEncoder(), Recipe(), training=True)


@dataclass
class Fitted:
    """A finished training of the tiny encoder."""

    training: Training
    encoder: TinyEncoder
    head: LinearHead

    @property
    def losses(self) -> list[float]:
        return [line["loss"] for line in self.lines]

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.training.log.read_text().splitlines()]

    def weights(self) -> dict[str, torch.Tensor]:
        return {
            **self.encoder.state_dict(),
            **{f"head.{name}": weight for name, weight in self.head.state_dict().items()},
        }


def fitted(
    folder: Path,
    recipe: Recipe = RECIPE,
    *,
    data: Features | None = None,
    problem: Problem = MOOD,
    wrap: Callable[[Model], Model] = lambda model: model,
    dropout: float = 0.0,
    narrow: bool = True,
    log_steps: int = 1,
    checkpoint_seconds: float = Computing.checkpoint_seconds,
    **options: Any,
) -> Fitted:
    """Train the tiny encoder with a linear head on made-up sentences. `wrap` changes the model, `options` the loop."""
    data = data or features(60)
    encoder, head = TinyEncoder(dropout=dropout), LinearHead(12, problem.head, seed=4)
    words = WordsInUse(encoder.word, data) if narrow else None
    training = Training(
        model=wrap(lambda batch: head(encoder, batch)),
        modules={"encoder": encoder, "head": head},
        features=data,
        problem=problem,
        recipe=recipe,
        seed=4,
        computing=Computing("cpu", checkpoint_seconds),
        checkpoint=options.pop("checkpoint", Checkpoint(folder / "checkpoint")),
        log=folder / "log.jsonl",
        **options,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchrunner.training.loop, "LOG_STEPS", log_steps)
        training.run()
    if words is not None and training.diverged is None:
        words.restore(training.decay_without_gradient(words.weight))
    return Fitted(training, encoder, head)


def difference(left: Fitted, right: Fitted) -> float:
    """Compute the largest difference between two equal weights of two trainings."""
    weights, expected = left.weights(), right.weights()
    assert weights.keys() == expected.keys()
    return max((weights[name] - expected[name]).abs().max().item() for name in weights)


class Killed(Exception):
    """Stands for a kill of the process."""


def killed_after(last: int) -> Callable[[int, int, Mapping[str, float]], None]:
    """Give a `report` that kills the training after a step."""

    def report(step: int, steps: int, figures: Mapping[str, float]) -> None:
        if step == last:
            raise Killed

    return report
