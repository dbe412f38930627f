"""Metrics: gold answers and predictions to one figure, counted as the official scorers count."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchrunner.errors import Undefined


@dataclass(frozen=True)
class Metric:
    """A named figure. `compute` raises `Undefined` where there is none."""

    name: str
    compute: Callable[[Sequence[Any], Sequence[Any]], float]
    """From (gold, predicted), in the same order."""
    scale: float = 100.0
    """What the figure is multiplied by where people read it, as leaderboards print it."""
    per_row: Callable[[Any, Any], float] | None = None
    """From (gold, predicted) of one row, where the figure is the mean over rows: what a threshold is tuned with."""
    detail: bool = False
    """Shown by `score`, in records and in JSON, but not in tables that compare."""


@dataclass(frozen=True)
class Score:
    """A figure, or its absence with the reason."""

    value: float | None
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"value": self.value} if self.value is not None else {"value": None, "reason": self.reason}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Score:
        return cls(data["value"], data.get("reason", ""))


def score(metric: Metric, gold: Sequence[Any], predicted: Sequence[Any]) -> Score:
    """The figure, or its absence: never a stand-in."""
    if len(gold) != len(predicted):
        raise ValueError(f"{len(predicted)} predictions for {len(gold)} gold answers")
    if not gold:
        return Score(None, "there are no rows to score")
    try:
        value = float(metric.compute(gold, predicted))
    except Undefined as reason:
        return Score(None, str(reason))
    return Score(value) if math.isfinite(value) else Score(None, f"{metric.name} came out as {value}")


def _accuracy(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    return sum(bool(one == other) for one, other in zip(gold, predicted, strict=True)) / len(gold)


def _matthews(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    """The correlation of two labellings; 0 where either side is constant, as scikit-learn and the board have it."""
    rows, right = len(gold), sum(bool(one == other) for one, other in zip(gold, predicted, strict=True))
    given, said = Counter(gold), Counter(predicted)
    shared = right * rows - sum(given[label] * said[label] for label in given)
    spread = (rows**2 - sum(n**2 for n in given.values())) * (rows**2 - sum(n**2 for n in said.values()))
    return shared / math.sqrt(spread) if spread else 0.0


def _correlation(name: str) -> Callable[[Sequence[Any], Sequence[Any]], float]:
    def compute(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
        from scipy import stats

        for side, values in (("gold scores", gold), ("predictions", predicted)):
            if not all(math.isfinite(value) for value in values):
                raise Undefined(f"no correlation: not all {side} are finite")
            if len(set(values)) < 2:
                raise Undefined(f"no correlation: all {side} are the same")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a nearly constant side has an imprecise figure, but it has one
            return float(getattr(stats, name)(gold, predicted)[0])

    return compute


ACCURACY = Metric("accuracy", _accuracy)
MATTHEWS = Metric("matthews", _matthews)
PEARSON = Metric("pearson", _correlation("pearsonr"))
SPEARMAN = Metric("spearman", _correlation("spearmanr"))


def f1(positive: str) -> Metric:
    """F1 of one label against the rest; 0 where the label is neither present nor predicted."""

    def compute(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
        pairs = list(zip(gold, predicted, strict=True))
        hits = pairs.count((positive, positive))
        mentions = sum((one == positive) + (other == positive) for one, other in pairs)
        return 2 * hits / mentions if mentions else 0.0

    return Metric("f1", compute)
