"""The answers of one fit to the rows of a split, with their score and the scores of resamples of the rows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import ne
from typing import Any, final

import numpy as np

from benchrunner import ACCURACY, EXACT_MATCH, GoldRow, Metric, RequestError, RowSums, Undefined, UnknownName
from benchrunner.engine import metrics
from benchrunner_tasks import BALANCED_ACCURACY, MATTHEWS, PEARSON, SPEARMAN

Column = metrics.Column
NAMED = (ACCURACY, MATTHEWS, BALANCED_ACCURACY, EXACT_MATCH, PEARSON, SPEARMAN)
"""The metrics without settings."""
NUMBERS_IN_MEMORY = 2_000_000
"""Largest number of elements of an array of resamples x rows. Its size is 16 MB as fp64."""
MOST_BLOCKS = 1_000
"""Largest number of blocks of rows that the jackknife leaves out in turn; with fewer rows, each row is a block."""
MOST_SLOW_BLOCKS = 200
"""Largest number of such blocks for metrics that are computed anew for each block.

The error of a variance from 200 blocks is about 10 %.
"""


@final
@dataclass(frozen=True)
class ScoredAnswers:
    """The answers of one fit. Values of rows are computed once, however many resamples need them."""

    metric: Metric
    gold: Column
    answers: Column
    clusters: np.ndarray | None = None
    """The number of the cluster of each row, from 0, (rows,); None where rows are independent of each other."""
    folds: int = 1
    """Number of folds if the answers are those of cross-validation: each fit has seen rows that others answer."""

    @cached_property
    def units(self) -> np.ndarray:
        """The number of each row's unit, (rows,): its cluster, or the row by itself. Units are independent."""
        return np.arange(len(self.gold)) if self.clusters is None else self.clusters

    @cached_property
    def blocks(self) -> np.ndarray:
        """The number of each row's block, (rows,): the jackknife leaves out each block in turn.

        A block is a unit, or several neighbouring units where there are many.
        """
        units = int(self.units.max()) + 1
        most = MOST_BLOCKS if self.is_fast else MOST_SLOW_BLOCKS
        return self.units if units <= most else self.units * most // units

    @cached_property
    def score(self) -> float:
        """The score of all rows; raises `Undefined` where the metric has no value."""
        value = self.metric.value(self.gold, self.answers)
        if not math.isfinite(value):
            raise Undefined(f"{self.metric.name} came out as {value}")
        return value

    @cached_property
    def row_sums(self) -> RowSums | None:
        """The metric as a function of sums over rows; None if the metric does not define it."""
        metric = self.metric
        if metric.row_sums is None and metric.per_row is not None and metric.computed_from == metrics.ANSWERS:
            return metrics.mean_of_rows(metric.per_row)
        return metric.row_sums

    @cached_property
    def row_values(self) -> np.ndarray:
        """The values of each row of a metric with `row_sums`, (rows, values)."""
        if self.row_sums is None:
            raise ValueError(f"{self.metric.name} does not follow from sums over rows")
        return self.row_sums.values(self.gold, self.answers)

    @property
    def is_fast(self) -> bool:
        """Whether the scores of thousands of resamples are computed at once, without a call of the metric for each."""
        return self.metric.weighted is not None or self.row_sums is not None

    @cached_property
    def scores_of_weights(self) -> metrics.ScoresOfWeights:
        """A function from weights (resamples, rows) to scores (resamples,); a score without a value is nan.

        A row counts as often as its weight says, a whole number.
        """
        if self.metric.weighted is not None:
            return self.metric.weighted(self.gold, self.answers)
        return self._repeated if self.row_sums is None else self._of_sums

    def _of_sums(self, weights: np.ndarray) -> np.ndarray:
        assert self.row_sums is not None
        return self.row_sums.scores(weights @ self.row_values)

    def _repeated(self, weights: np.ndarray) -> np.ndarray:
        """Compute the metric of each resample on a list in which each row is repeated as often as it counts."""
        scores = []
        for row_weights in weights:
            counts = row_weights.astype(np.int64)
            rows = np.repeat(np.arange(len(counts)), counts).tolist()
            gold = [self.gold[row] for row in rows]
            answers = [self.answers[row] for row in rows]
            try:
                scores.append(self.metric.value(gold, answers))
            except Undefined:
                scores.append(float("nan"))
        return np.array(scores)

    @property
    def is_correlation(self) -> bool:
        """Whether the metric correlates numbers."""
        return self.metric.lowest < 0 and isinstance(self.gold[0], float)

    @property
    def scaled(self) -> ScoredAnswers:
        """The answers, which are numbers, with the mean 0 and the deviation 1."""
        numbers = np.asarray(self.answers, dtype=np.float64)
        return replace(self, answers=((numbers - numbers.mean()) / numbers.std()).tolist())

    @cached_property
    def exchanged(self) -> ScoredAnswers:
        """The answers with those of two rows exchanged, which have different gold answers of the same form.

        For a mean over rows these are the answers as they are: its rows show how much it varies.
        """
        if self.metric.per_row is not None:
            return self
        first, *others = map(_right, self.gold)
        for row, right in enumerate(others, 1):
            if right != first and _length(right) == _length(first):
                answers = list(self.answers)
                answers[0], answers[row] = answers[row], answers[0]
                return replace(self, answers=answers)
        return self

    def scores_without_blocks(self) -> tuple[float, np.ndarray]:
        """Return the score of all rows, and for each block the score without the rows of the block, (blocks,)."""
        blocks = int(self.blocks.max()) + 1
        if self.metric.weighted is None and (row_sums := self.row_sums) is not None:
            columns = [np.bincount(self.blocks, column, blocks) for column in self.row_values.T]
            sums = np.stack(columns, axis=1)  # (blocks, values)
            total = sums.sum(axis=0, keepdims=True)
            (complete,) = row_sums.scores(total).tolist()
            return complete, row_sums.scores(total - sums)
        rows = len(self.gold)
        (complete,) = self.scores_of_weights(np.ones((1, rows))).tolist()
        parts = []
        chunks = math.ceil(blocks * rows / NUMBERS_IN_MEMORY)
        for chunk in np.array_split(np.arange(blocks), chunks):
            weights = chunk[:, None] != self.blocks  # (blocks of the chunk, rows)
            parts.append(self.scores_of_weights(weights.astype(np.float64)))
        return complete, np.concatenate(parts)


def scored_restarts(
    metric: Metric | str,
    gold: Column,
    restarts: Sequence[Column],
    name: str,
    clusters: Sequence[Hashable] | None = None,
    folds: int = 1,
) -> list[ScoredAnswers]:
    """Pair the answers of each restart with the gold answers, or raise a `RequestError` that names the argument."""
    metric = metric if isinstance(metric, Metric) else _named_metric(metric)
    if not len(gold):
        raise RequestError("There are no rows to compare answers on.")
    if not len(restarts):
        raise RequestError(f"{name} is empty: give a list of answer lists, one for each restart.")
    for number, answers in enumerate(restarts):
        if isinstance(answers, str) or not hasattr(answers, "__len__"):
            raise RequestError(
                f"{name} is a list of answer lists, one for each restart, but {name}[{number}] is {answers!r}. For a "
                f"single restart, give [{name}]."
            )
        if len(answers) != len(gold):
            raise RequestError(f"{name}[{number}] has {len(answers)} answers to {len(gold)} rows.")
    if clusters is not None and len(clusters) != len(gold):
        raise RequestError(f"clusters has {len(clusters)} ids for {len(gold)} rows.")
    numbers = None if clusters is None else cluster_numbers(clusters)
    return [ScoredAnswers(metric, gold, answers, numbers, folds) for answers in restarts]


def _right(gold: Any) -> Any:
    """Return the gold answer of a row, without the columns that a metric reads."""
    return gold.gold if isinstance(gold, GoldRow) else gold


def _length(gold: Any) -> int:
    """Return the number of words that a gold answer labels; 0 for one that is no sequence."""
    return len(gold) if isinstance(gold, list | tuple) else 0


def differing(a: Column, b: Column) -> np.ndarray:
    """Mark the rows to which two fits give different answers, (rows,)."""
    return np.fromiter(map(ne, a, b), dtype=bool, count=len(a))


def cluster_numbers(clusters: Sequence[Hashable]) -> np.ndarray:
    """Number the clusters from 0 in the order of their first rows; return the number of each row's cluster."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters])


def effective_number(units: np.ndarray) -> float:
    """Return how many clusters of equal size tell as much as the clusters of these rows: (sum m)**2 / sum m**2.

    `units` has the number of each row's cluster; m is the number of rows of a cluster.
    """
    sizes = np.bincount(units).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def _named_metric(name: str) -> Metric:
    """Return the metric without settings that has this name; raise a `RequestError` for an unknown name."""
    by_name = {metric.name: metric for metric in NAMED}
    if name in by_name:
        return by_name[name]
    advice = 'Give a metric with settings as a value, for example benchrunner_tasks.f1("yes").'
    raise UnknownName("metric", name, by_name, advice, where="without settings")


def pseudo_values(restarts: Sequence[ScoredAnswers]) -> np.ndarray:
    """Return the pseudo-values of the jackknife (Tukey 1958), whose mean over the blocks estimates the score.

    Their shape is (restarts, blocks): see `ScoredAnswers.blocks`. The pseudo-value of a block is
    B * score - (B - 1) * score without the block, where B is the number of blocks. For accuracy and blocks of one row,
    it is 1 for a right and 0 for a wrong answer. Their variance divided by B is that of the score, also where blocks
    have different sizes (CV3 in MacKinnon, Nielsen and Webb 2023).

    Scores of folds correlate, because their fits learn from the same rows. In cross-validation, pseudo-values are
    therefore stretched: for a correlation of 1 / folds (Nadeau and Bengio 2003, section 3), the variance of the score
    is 2 - 1 / folds times that of independent rows.
    """
    blocks = int(restarts[0].blocks.max()) + 1
    if blocks < 2:
        unit = "row" if restarts[0].clusters is None else "cluster of rows"
        raise Undefined(f"there is only one {unit}, and a comparison with other rows needs two or more")
    stretch = math.sqrt(2 - 1 / restarts[0].folds)
    values = []
    for restart in restarts:
        complete, without = restart.scores_without_blocks()
        values.append(complete + stretch * (blocks - 1) * (complete - without))
        if not np.isfinite(values[-1]).all():
            name = restart.metric.name
            raise Undefined(f"{name} has no value without some of the rows, so its error cannot be estimated")
    return np.stack(values)
