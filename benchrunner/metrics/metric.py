"""A metric, how it follows from sums over rows, its score, and the functions that compute scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, SupportsFloat, final

from benchrunner.errors import Undefined
from benchrunner.io.json_form import WHEN_GIVEN
from benchrunner.io.messages import quoted

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

Column = Sequence[Any]
"""Values of all rows, in their order: gold answers, predicted answers, or another figure of each row."""

ANSWERS = "answers"
"""Value of `Metric.computed_from` for metrics that compare gold answers with predicted answers."""
ScoresOfWeights = Callable[["np.ndarray"], "np.ndarray"]
"""Computes the scores of several resamples: weights (resamples, rows) -> scores (resamples,). A weight says how often
the row counts. A score that has no value is nan."""


def mean_of_sums(sums: np.ndarray) -> Any:
    """Divide the sum of the values by the sum of their weights: (2, resamples) -> (resamples,)."""
    values, weights = sums
    return values / weights


@final
@dataclass(frozen=True)
class RowSums:
    """How a metric follows from sums over rows, such as counts of hits: then thousands of resamples take no time."""

    row_values: Callable[[Column, Column], Any]
    """Computes the values of each row that are summed, (rows, values), from (gold, predicted)."""
    figure: Callable[[np.ndarray], Any] = mean_of_sums
    """Computes the metric from the sums, (values, resamples) -> (resamples,); nan where the metric has no value. By
    default the first value is a figure, the second its weight, and the metric the mean."""

    def values(self, gold: Column, predicted: Column) -> np.ndarray:
        """Return the values of each row as fp64, (rows, values)."""
        import numpy as np

        return np.asarray(self.row_values(list(gold), list(predicted)), dtype=np.float64)

    def scores(self, sums: np.ndarray) -> np.ndarray:
        """Compute the scores of resamples from their sums, (resamples, values) -> (resamples,)."""
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.figure(sums.T))


def mean_of_rows(row_value: Callable[[Any, Any], float]) -> RowSums:
    """Describe a metric that is the mean over the rows of `row_value`(gold, predicted)."""

    def row_values(gold: Column, predicted: Column) -> list[tuple[float, float]]:
        return [(row_value(right, answer), 1.0) for right, answer in zip(gold, predicted, strict=True)]

    return RowSums(row_values)


@dataclass(frozen=True)
class Metric:
    """A named figure of predictions. `compute` raises `Undefined` where the figure has no value."""

    name: str
    compute: Callable[[Column, Column], Any]
    """Computes the figure from (gold, predicted), both in the order of the rows. `computed_from` says what is
    predicted. Where `figure` is given, the result is not a number but what `figure` reads, for example counts."""
    scale: float = 100.0
    """Factor for display: tables show the figure times this factor, as leaderboards print it."""
    per_row: Callable[[Any, Any], float] | None = None
    """Computes the figure of one row from (gold, predicted), where the metric is the mean over rows. Thresholds are
    tuned with it."""
    detail: bool = False
    """True for a figure that `audit`, records and JSON show, but tables of comparisons do not."""
    computed_from: str = ANSWERS
    """What `compute` gets as predictions: "answers", or the name of a figure that `Problem.extra_figures` gives for
    each row, for example "probabilities". A file of answers has no such figures, so the score is then absent."""
    figure: Callable[[Any], float] = float
    """Reads the figure from the result of `compute`. Metrics that are computed from the same counts share a `compute`
    and differ in `figure`; `scores` then calls `compute` only once."""
    row_sums: RowSums | None = None
    """How the metric follows from sums over rows, for the thousands of resamples of intervals and tests. A metric with
    `per_row` needs none. Without both, `compute` is called for each resample, and there are fewer of them."""
    weighted: Callable[[Column, Column], ScoresOfWeights] | None = None
    """Prepares the scores of weighted rows from (gold, predicted), where `row_sums` is right only for all rows, as for
    ranks."""
    columns: tuple[str, ...] = ()
    """Columns of the rows that the metric reads besides the gold answers, for example the question that each row
    belongs to. Every function of the metric then gets a `GoldRow` in place of each gold answer."""
    of_groups: bool = False
    """Whether rows with equal values in `columns` are scored together, so that a limit of rows must not part them."""
    lowest: float = field(default=0.0, compare=False)
    """Smallest value of a metric of the scale 100, whose largest is 1. No part of the identity of predictions."""
    decimals: int = field(default=1, compare=False)
    """Digits after the point in tables. No part of the identity of predictions."""
    lower_is_better: bool = field(default=False, compare=False)
    """True for errors, such as a distance from gold. No part of the identity of predictions."""

    def number(self, computed: Any) -> float:
        """Read the figure from a result of `compute`; what is no number is an error that names the plugin's line."""
        if self.figure is float or computed is None:
            return _number(computed, self.name, self.compute)
        return _number(self.figure(computed), self.name, self.figure)

    @classmethod
    def of_rows(cls, name: str, row_value: Callable[[Any, Any], float], **fields: Any) -> Metric:
        """Make the metric that is the mean over the rows of `row_value`(gold, predicted)."""

        def compute(gold: Column, predicted: Column) -> float:
            values = [_number(value, name, row_value) for value in map(row_value, gold, predicted)]
            return sum(values) / len(gold)

        return cls(name, compute, per_row=row_value, **fields)

    @classmethod
    def of_sums(cls, name: str, row_sums: RowSums, absent: str = "", **fields: Any) -> Metric:
        """Make the metric that follows from sums over the rows; `absent` says why, where it has no value."""

        def compute(gold: Column, predicted: Column) -> float:
            sums = row_sums.values(gold, predicted).sum(axis=0, keepdims=True)
            value = float(row_sums.scores(sums)[0])
            if absent and math.isnan(value):
                raise Undefined(absent)
            return value

        return cls(name, compute, row_sums=row_sums, **fields)

    def limits(self, score: float) -> tuple[float, float] | None:
        """Return the smallest and the largest value; None if they are not known, or if a score is not between them."""
        return (self.lowest, 1.0) if self.scale == 100 and self.lowest <= score <= 1 else None

    def gain(self, score: float) -> float:
        """Return a score so that more is better: as it is, or negative where lower is better."""
        return -score if self.lower_is_better else score

    def value(self, gold: Column, predicted: Column) -> float:
        """Compute the figure; raises `Undefined` where the figure has no value."""
        return self.number(self.compute(list(gold), list(predicted)))

    def score(
        self,
        gold: Column,
        predicted: Column,
        table: pa.Table | None = None,
    ) -> Score:
        """Compute the figure; where it has no value, the score is absent, with the reason.

        `predicted` is what `computed_from` names. `table` has the rows, for a metric that reads columns.
        """
        return scores([self], gold, {self.computed_from: predicted}, table)[self.name]


def _number(value: Any, metric: str, function: Callable[..., Any]) -> float:
    """Return a value that a function of a metric gave; raise a `TypeError` with its place if it is no number."""
    if type(value) is float or isinstance(value, SupportsFloat):  # the first test is fast
        return float(value)
    code = getattr(function, "__code__", None)
    place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
    raise TypeError(f"the metric '{metric}' gave {quoted(value)}, not a number{place}")


@final
@dataclass(frozen=True)
class GoldRow:
    """The gold answer of a row, and the values of the columns that a metric reads: see `Metric.columns`."""

    gold: Any
    columns: Mapping[str, Any]

    def __getitem__(self, column: str) -> Any:
        return self.columns[column]


def gold_rows(metric: Metric, gold: Column, table: pa.Table | None) -> Column:
    """Return what a metric compares answers with: the gold answers, or with `Metric.columns` a `GoldRow` for each.

    Raises `Undefined` if the rows lack a column that the metric reads.
    """
    if not metric.columns:
        return gold
    for name in metric.columns:
        if table is None or name not in table.column_names:
            raise Undefined(f"{metric.name} reads the column '{name}', which these rows do not have")
    assert table is not None
    columns = table.select(metric.columns).to_pylist()
    return [GoldRow(right, values) for right, values in zip(gold, columns, strict=True)]


@dataclass(frozen=True)
class Score:
    """The value of a metric, or None with the reason why there is no value."""

    value: float | None
    reason: str = field(default="", metadata=WHEN_GIVEN)


def scores(
    metrics: Iterable[Metric],
    gold: Column,
    predictions: Mapping[str, Column],
    table: pa.Table | None = None,
) -> dict[str, Score]:
    """Compute metrics of the same rows, by the metric's name; a score is absent where a metric has no value.

    `predictions` are by the names that `Metric.computed_from` has. Metrics with the same `compute` share one call.
    `table` has the rows, for metrics that read columns. A metric gets copies: it may sort them, and changes no other.
    """
    computed: dict[tuple[object, ...], Any] = {}
    by_name: dict[str, Score] = {}
    for metric in metrics:
        try:
            predicted = predictions.get(metric.computed_from)
            if predicted is None:
                raise Undefined(f"{metric.name} is computed from {metric.computed_from}, and there are answers only")
            if len(gold) != len(predicted):
                raise ValueError(f"{len(predicted)} predictions for {len(gold)} gold answers")
            right = gold_rows(metric, gold, table)
            if not gold:
                raise Undefined("there are no rows to score")
            key = (metric.computed_from, metric.columns, metric.compute)
            if key not in computed:
                computed[key] = metric.compute(*deepcopy((right, predicted)))
            value = metric.number(deepcopy(computed[key]))
            if not math.isfinite(value):
                raise Undefined(f"{metric.name} came out as {value}")
            by_name[metric.name] = Score(value)
        except Undefined as reason:
            by_name[metric.name] = Score(None, str(reason))
    return by_name


def labels_of(answer: Any) -> Sequence[Any]:
    """Give the labels of an answer: the list itself, or the single label as a list."""
    return answer if isinstance(answer, list | tuple) else [answer]


def _is_equal(gold: Any, predicted: Any) -> float:
    return float(gold == predicted)


def _same_labels(gold: Any, predicted: Any) -> float:
    right = set(labels_of(gold))
    return float(right == set(labels_of(predicted)))


def _is_among(gold: Any, predicted: Any) -> float:
    return float(predicted in labels_of(gold))


ACCURACY = Metric.of_rows("accuracy", _is_equal)
"""Share of rows whose answer equals the gold answer."""
EXACT_MATCH = Metric.of_rows("exact_match", _same_labels)
"""Share of rows with exactly the right labels, in any order; answers are lists of labels."""
RIGHT_CHOICE = Metric.of_rows("accuracy", _is_among)
"""Share of rows whose answer is the gold answer, or one of them if gold is a list, as in `Candidates`."""
