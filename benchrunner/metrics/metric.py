"""A metric, its score, and the one function that computes a score."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from benchrunner.errors import Undefined

ANSWERS = "answers"
"""Value of `Metric.computed_from` for metrics that compare gold answers with predicted answers."""


@dataclass(frozen=True)
class Metric:
    """A named figure of predictions. `compute` raises `Undefined` where the figure has no value."""

    name: str
    compute: Callable[[Sequence[Any], Sequence[Any]], float]
    """Computes the figure from (gold, predicted), both in the order of the rows. `computed_from` says what is
    predicted."""
    scale: float = 100.0
    """Factor for display: tables show the figure times this factor, as leaderboards print it."""
    per_row: Callable[[Any, Any], float] | None = None
    """Computes the figure of one row from (gold, predicted), where the metric is the mean over rows. Thresholds are
    tuned with it."""
    detail: bool = False
    """True for a figure that `score`, records and JSON show, but tables of comparisons do not."""
    computed_from: str = ANSWERS
    """What `compute` gets as predictions: "answers", or the name of a figure that `Problem.extra_figures` gives for
    each row, for example "probabilities". A file of answers has no such figures, so the score is then absent."""


@dataclass(frozen=True)
class Score:
    """The value of a metric, or None with the reason why there is no value."""

    value: float | None
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"value": self.value} if self.value is not None else {"value": None, "reason": self.reason}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Score:
        return cls(data["value"], data.get("reason", ""))


def score(metric: Metric, gold: Sequence[Any], predicted: Sequence[Any] | None) -> Score:
    """Compute a metric. The score is absent, with the reason, where the metric has no value.

    `predicted` is what `metric.computed_from` names, or None where the predictions come without it.
    """
    if predicted is None:
        return Score(None, f"{metric.name} is computed from {metric.computed_from}, and there are answers only")
    if len(gold) != len(predicted):
        raise ValueError(f"{len(predicted)} predictions for {len(gold)} gold answers")
    if not gold:
        return Score(None, "there are no rows to score")
    try:
        value = float(metric.compute(gold, predicted))
    except Undefined as reason:
        return Score(None, str(reason))
    return Score(value) if math.isfinite(value) else Score(None, f"{metric.name} came out as {value}")
