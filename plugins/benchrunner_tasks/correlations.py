"""Correlations of numbers, as functions of sums over rows and of weighted rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchrunner import Metric, RowSums, Undefined
from benchrunner.engine import metrics

if TYPE_CHECKING:
    import numpy as np

NO_VARIANCE = 1e-12
"""Numbers of deviation 1 whose variance in a resample is below this value are all equal but for rounding."""


def _numbers(gold: metrics.Column, predicted: metrics.Column) -> list[np.ndarray]:
    """Return both sides as arrays; raises `Undefined` where they have no correlation."""
    import numpy as np

    sides = []
    for side, values in {"gold scores": gold, "predictions": predicted}.items():
        numbers = np.asarray(values, float)
        if not np.isfinite(numbers).all():
            raise Undefined(f"no correlation: not all {side} are finite")
        if (numbers == numbers[0]).all():
            raise Undefined(f"no correlation: all {side} are the same")
        sides.append(numbers)
    return sides


def _number_values(gold: metrics.Column, predicted: metrics.Column) -> np.ndarray:
    """Return 1, both numbers, their squares and their product for each row. Numbers have mean 0 and deviation 1."""
    return _products(*_numbers(gold, predicted))


def _rank_values(gold: metrics.Column, predicted: metrics.Column) -> np.ndarray:
    """Return the `_number_values` of the ranks among all rows; equal numbers share a rank."""
    from scipy.stats import rankdata

    sides = _numbers(gold, predicted)
    return _products(*map(rankdata, sides))


def _products(*sides: np.ndarray) -> np.ndarray:
    import numpy as np

    first, second = [(side - side.mean()) / side.std() for side in sides]
    values = [np.ones_like(first), first, second, first**2, second**2, first * second]
    return np.stack(values, axis=1)


def _pearson(sums: np.ndarray) -> np.ndarray:
    """Compute Pearson's correlation from the sums of `_number_values`."""
    rows, sum_1, sum_2, square_1, square_2, product = sums
    covariance = product - sum_1 * sum_2 / rows
    variance_1 = square_1 / rows - (sum_1 / rows) ** 2
    variance_2 = square_2 / rows - (sum_2 / rows) ** 2
    return _correlation(covariance / rows, variance_1, variance_2)


def _weighted_spearman(gold: metrics.Column, predicted: metrics.Column) -> metrics.ScoresOfWeights:
    """Prepare Spearman's correlations of resamples; each resample has ranks of its own."""
    import numpy as np

    gold_ranks = _weighted_ranks(np.asarray(gold, float))
    predicted_ranks = _weighted_ranks(np.asarray(predicted, float))

    def scores(weights: np.ndarray) -> np.ndarray:
        rows = weights.sum(axis=1, keepdims=True)
        mean = (rows + 1) / 2
        first = (gold_ranks(weights) - mean) / rows
        second = (predicted_ranks(weights) - mean) / rows
        weights = weights / rows
        weighted_first = weights * first
        covariance = (weighted_first * second).sum(axis=1)
        variance_1 = (weighted_first * first).sum(axis=1)
        variance_2 = (weights * second**2).sum(axis=1)
        return _correlation(covariance, variance_1, variance_2)

    return scores


def _weighted_ranks(values: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Prepare the ranks of values that stand in a resample as often as their weights say; equal values share a rank."""
    import numpy as np

    order = np.argsort(values, kind="stable")
    _, group_of, sizes = np.unique(values, return_inverse=True, return_counts=True)
    starts = np.cumsum(sizes) - sizes  # the first place of each group of equal values in the order

    def ranks(weights: np.ndarray) -> np.ndarray:
        counts = np.add.reduceat(weights[:, order], starts, axis=1)  # (resamples, groups)
        last = np.cumsum(counts, axis=1)
        middle: np.ndarray = last - counts / 2 + 0.5
        return middle[:, group_of]

    return ranks


def _correlation(covariance: Any, variance_1: Any, variance_2: Any) -> np.ndarray:
    """Divide a covariance by the deviations; nan where one of the variances is 0."""
    import numpy as np

    varies = (variance_1 > NO_VARIANCE) & (variance_2 > NO_VARIANCE)
    product = np.where(varies, variance_1 * variance_2, 1)
    correlation = (covariance / np.sqrt(product)).clip(-1, 1)  # rounding may give 1 + 2e-16
    return np.where(varies, correlation, np.nan)


PEARSON = Metric.of_sums("pearson", RowSums(_number_values, _pearson), lowest=-1.0)
"""Pearson's correlation of numbers."""
SPEARMAN = Metric.of_sums("spearman", RowSums(_rank_values, _pearson), weighted=_weighted_spearman, lowest=-1.0)
"""Spearman's rank correlation of numbers."""
