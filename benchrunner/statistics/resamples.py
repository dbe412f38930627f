"""Scores of resampled rows: bootstrap resamples, rows left out, and answers of two systems swapped."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from benchrunner.errors import RequestError, Undefined
from benchrunner.metrics import ANSWERS, Metric, RowSums, ScoresOfWeights, mean_of_rows
from benchrunner.metrics.classification import ACCURACY, BALANCED_ACCURACY, EXACT_MATCH, MATTHEWS
from benchrunner.metrics.correlation import PEARSON, SPEARMAN
from benchrunner.metrics.ranking import MEAN_RECIPROCAL_RANK

if TYPE_CHECKING:
    import numpy as np

NAMED = (ACCURACY, BALANCED_ACCURACY, EXACT_MATCH, MATTHEWS, MEAN_RECIPROCAL_RANK, PEARSON, SPEARMAN)
"""Metrics that can be given by their names; others need labels, such as `f1("yes")`."""

NUMBERS_IN_MEMORY = 2_000_000
"""Size of the arrays in which resamples are computed: resamples times rows. 16 MB as fp64."""


def metric_of(metric: Metric | str) -> Metric:
    """Return the metric of a name, or the metric itself."""
    if isinstance(metric, Metric):
        return metric
    by_name = {named.name: named for named in NAMED}
    if metric not in by_name:
        raise RequestError(
            f"There is no metric '{metric}' that needs no labels; there are {', '.join(by_name)}. Give any other "
            'metric as a value, for example benchrunner.f1("yes").'
        )
    return by_name[metric]


def check_answers(gold: Sequence[Any], restarts: Sequence[Sequence[Any]], name: str) -> None:
    """Raise a `RequestError` unless there is one answer list for each restart, with one answer for each row."""
    if not len(gold):
        raise RequestError("There are no rows to compare answers on.")
    if not len(restarts):
        raise RequestError(f"{name} is a list of answer lists, one for each restart, and it is empty.")
    for number, answers in enumerate(restarts):
        if isinstance(answers, str) or not hasattr(answers, "__len__"):
            raise RequestError(
                f"{name} is a list of answer lists, one for each restart, but {name}[{number}] is {answers!r}. For a "
                f"single restart, give [{name}]."
            )
        if len(answers) != len(gold):
            raise RequestError(f"{name}[{number}] has {len(answers)} answers to {len(gold)} rows.")


def row_sums_of(metric: Metric) -> RowSums | None:
    """Return how a metric follows from sums over rows; None if the metric does not say it."""
    if metric.row_sums is None and metric.per_row is not None and metric.computed_from == ANSWERS:
        return mean_of_rows(metric.per_row)
    return metric.row_sums


def is_fast(metric: Metric) -> bool:
    """Say whether thousands of resamples of a metric are computed at once."""
    return metric.weighted is not None or row_sums_of(metric) is not None


def scores_of_weights(metric: Metric, gold: Sequence[Any], answers: Sequence[Any]) -> ScoresOfWeights:
    """Prepare a function from weights (resamples, rows) to scores (resamples,); a score without a value is nan.

    A row counts as often as its weight says, a whole number.
    """
    if metric.weighted is not None:
        return metric.weighted(gold, answers)
    if row_sums := row_sums_of(metric):
        values = row_sums.values(gold, answers)
        return lambda weights: row_sums.scores(weights @ values)
    return _by_repeating(metric, gold, answers)


def _by_repeating(metric: Metric, gold: Sequence[Any], answers: Sequence[Any]) -> ScoresOfWeights:
    """Compute the metric of each resample from its rows, repeated as often as they count."""
    import numpy as np

    def score(weights: np.ndarray) -> float:
        rows = np.repeat(np.arange(len(gold)), weights.astype(np.int64)).tolist()
        try:
            return metric.value([gold[row] for row in rows], [answers[row] for row in rows])
        except Undefined:
            return float("nan")

    return lambda weights: np.array([score(row) for row in weights])


def score_of_all_rows(metric: Metric, gold: Sequence[Any], answers: Sequence[Any]) -> float:
    """Compute the metric of all rows; raises `Undefined` where it has no value."""
    import math

    value = metric.value(gold, answers)
    if not math.isfinite(value):
        raise Undefined(f"{metric.name} came out as {value}")
    return value


def batched(count: int, rows: int) -> Iterator[int]:
    """Yield the sizes of the batches in which `count` resamples of some rows are computed."""
    size = max(1, NUMBERS_IN_MEMORY // max(rows, 1))
    for start in range(0, count, size):
        yield min(size, count - start)


def bootstrap_scores(
    functions: Sequence[Callable[[np.ndarray], np.ndarray]], rows: int, *, resamples: int, seed: int
) -> np.ndarray:
    """Draw rows with replacement, and compute the scores of each function: (functions, resamples)."""
    import numpy as np

    generator, parts = np.random.default_rng(seed), []
    for size in batched(resamples, rows):
        drawn = generator.integers(rows, size=(size, rows))
        drawn += np.arange(size)[:, None] * rows
        weights = np.bincount(drawn.ravel(), minlength=size * rows).reshape(size, rows).astype(np.float64)
        parts.append(np.stack([function(weights) for function in functions]))
    return np.concatenate(parts, axis=1)
