"""The figures of calibration, each with its interval over examples and its deviation over restarts."""

from __future__ import annotations

import math
import statistics as means
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from benchrunner import Metric, RowSums, Undefined
from benchrunner.engine import first_line
from benchrunner.results import intervals, pairs
from benchrunner_calibration.binning import Binning, chance_error, plain_error, squared_error
from benchrunner_calibration.label_answers import LabelAnswers
from benchrunner_statistics import example_interval, paired_test

SQUARED_ERROR, BRIER, LOG_LOSS = "squared_error", "brier", "log_loss"
COMPARED = (SQUARED_ERROR, BRIER, LOG_LOSS)
"""Names of the measures in which systems are compared."""


def _mean_of_weights(gold: Sequence[Any], values: Sequence[float]) -> Callable[[np.ndarray], np.ndarray]:
    numbers = np.asarray(values, dtype=np.float64)
    return lambda weights: np.asarray(weights @ numbers / weights.sum(axis=1))


def _value_and_count(gold: Sequence[Any], values: Sequence[float]) -> list[tuple[float, float]]:
    return [(value, 1.0) for value in values]


MEAN = Metric(
    "mean",
    lambda gold, values: sum(values) / len(values),
    scale=1.0,
    row_sums=RowSums(_value_and_count, lambda sums: sums[0] / sums[1]),
    weighted=_mean_of_weights,
)
"""The mean of numbers of rows, in the place of answers; gold answers are not read."""
SHARE = replace(MEAN, scale=100.0)
"""The mean of numbers from 0 to 1."""
ERROR = replace(MEAN, lower_is_better=True)
"""The mean of numbers above 0."""


@final
@dataclass(frozen=True)
class Measure:
    """A figure of the answers of one fit."""

    name: str
    metric: Metric
    values: Callable[[LabelAnswers], list[Any]]
    """Computes for each row what the metric reads as its answer."""


def measures(binning: Binning) -> dict[str, Measure]:
    """Return the measures that have intervals, by name."""
    listed = (
        Measure("accuracy", SHARE, lambda answers: answers.right.tolist()),
        Measure("confidence", SHARE, lambda answers: answers.confidence.tolist()),
        Measure("overconfidence", MEAN, lambda answers: (answers.confidence - answers.right).tolist()),
        Measure(
            SQUARED_ERROR,
            squared_error(binning),
            lambda answers: list(zip(answers.confidence.tolist(), answers.right.tolist(), strict=True)),
        ),
        Measure(BRIER, ERROR, lambda answers: answers.brier.tolist()),
        Measure(LOG_LOSS, ERROR, lambda answers: answers.log_loss.tolist()),
    )
    return {measure.name: measure for measure in listed}


@final
@dataclass(frozen=True)
class Estimate:
    """A figure of a system: the mean over its restarts."""

    value: float | None
    interval: intervals.Interval | None = None
    """Interval of 95 % over examples, or over clusters of them, for these restarts; None if there is none."""
    deviation: float | None = None
    """Standard deviation between restarts (n - 1); None for fewer than two."""
    restarts: tuple[float, ...] = ()
    reason: str = ""
    """Why the value or the interval is absent."""

    @classmethod
    def of(cls, values: Iterable[float], interval: intervals.Interval | None = None, reason: str = "") -> Estimate:
        """Return the estimate whose restarts have these values."""
        restarts = tuple(values)
        deviation = means.stdev(restarts) if len(restarts) > 1 else None
        return cls(means.fmean(restarts), interval, deviation, restarts, reason)

    @property
    def root(self) -> Estimate:
        """The root of a squared figure, its restarts and the ends of its interval; 0 where the square is negative."""
        if self.value is None:
            return self
        restarts = tuple(map(_root, self.restarts))
        interval = self.interval and intervals.Interval(_root(self.interval.low), _root(self.interval.high))
        deviation = means.stdev(restarts) if len(restarts) > 1 else None
        return Estimate(_root(self.value), interval, deviation, restarts, self.reason)


def _root(square: float) -> float:
    return math.sqrt(max(0.0, square))


@final
@dataclass(frozen=True)
class Units:
    """Which rows of a split belong together."""

    numbers: np.ndarray
    """The number of each row's unit, (rows,): its cluster, or the row by itself."""
    are_clusters: bool
    folds: int = 1
    """Number of folds of a cross-validation."""

    @property
    def clusters(self) -> list[int] | None:
        """The cluster of each row, for `benchrunner_statistics`; None if rows are independent."""
        return self.numbers.tolist() if self.are_clusters else None


def estimates(restarts: Sequence[LabelAnswers], units: Units, binning: Binning) -> dict[str, Estimate]:
    """Return every figure of the restarts of a system, by name."""
    figures = {}
    for measure in measures(binning).values():
        answers = [measure.values(restart) for restart in restarts]
        figures[measure.name] = estimate(measure.metric, answers, units)
    errors = [plain_error(restart.confidence, restart.right, binning) for restart in restarts]
    by_chance = [chance_error(restart.confidence, binning) for restart in restarts]
    return {
        **figures,
        "calibration_error": figures[SQUARED_ERROR].root,
        "plain_error": Estimate.of(errors),
        "plain_error_by_chance": Estimate.of(by_chance),
    }


def changes(
    before: Sequence[LabelAnswers], after: Sequence[LabelAnswers], units: Units, binning: Binning
) -> dict[str, Estimate]:
    """Return by how much each figure is higher `after`: two versions of the answers of the same restarts."""
    figures = {}
    for measure in measures(binning).values():
        answers = []
        for first, second in zip(before, after, strict=True):
            answers.append(list(zip(measure.values(first), measure.values(second), strict=True)))
        figures[measure.name] = estimate(_change(measure.metric), answers, units)
    return figures


def _change(metric: Metric) -> Metric:
    """Return the metric of pairs of answers to a row: the figure of the second ones less that of the first."""
    assert metric.weighted is not None
    prepare = metric.weighted

    def weighted(gold: Sequence[Any], answers: Sequence[Any]) -> Callable[[np.ndarray], np.ndarray]:
        first, second = zip(*answers, strict=True)
        scores_of_first, scores_of_second = prepare(gold, first), prepare(gold, second)
        return lambda weights: scores_of_second(weights) - scores_of_first(weights)

    def compute(gold: Sequence[Any], answers: Sequence[Any]) -> float:
        first, second = zip(*answers, strict=True)
        return metric.value(gold, second) - metric.value(gold, first)

    return Metric(f"change of {metric.name}", compute, scale=1.0, weighted=weighted)


def estimate(metric: Metric, restarts: Sequence[Sequence[Any]], units: Units) -> Estimate:
    """Return the figure of restarts, with its interval over examples; absent parts have their reason."""
    gold = units.numbers.tolist()
    try:
        values = [metric.value(gold, answers) for answers in restarts]
    except Undefined as reason:
        return Estimate(None, reason=first_line(reason))
    try:
        interval = example_interval(metric, gold, restarts, clusters=units.clusters, folds=units.folds)
    except Undefined as reason:
        return Estimate.of(values, reason=first_line(reason))
    return Estimate.of(values, interval)


def compared(
    a: Sequence[LabelAnswers],
    b: Sequence[LabelAnswers],
    units: Units,
    binning: Binning,
    *,
    confidence: float = 0.95,
) -> Mapping[str, pairs.Comparison]:
    """Test in which measures of `COMPARED` two systems differ: the figure of `a` less that of `b`.

    A measure that has no value for these rows is left out. `confidence` is that of the intervals.
    """
    comparisons = {}
    gold = units.numbers.tolist()
    chosen = measures(binning)
    for name in COMPARED:
        metric, values = chosen[name].metric, chosen[name].values
        first, second = list(map(values, a)), list(map(values, b))
        try:
            comparisons[name] = paired_test(
                metric, gold, first, second, clusters=units.clusters, folds=units.folds, confidence=confidence
            )
        except Undefined:
            continue
    return comparisons
