"""Correlations as functions of sums over rows and of weighted rows, which scipy does not offer.

Sums are arrays (values, resamples): see `RowSums`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from benchrunner.metrics.weighting import ScoresOfWeights

NO_VARIANCE = 1e-12
"""Numbers of deviation 1 whose variance in a resample is below this value are all equal but for rounding."""


def number_row_values(gold: Sequence[Any], predicted: Sequence[Any]) -> np.ndarray:
    """Return 1, both numbers, their squares and their product for each row. Numbers have mean 0 and deviation 1."""
    import numpy as np

    right, answers = _standardized(np.asarray(gold, float)), _standardized(np.asarray(predicted, float))
    return np.stack([np.ones_like(right), right, answers, right**2, answers**2, right * answers], axis=1)


def rank_row_values(gold: Sequence[Any], predicted: Sequence[Any]) -> np.ndarray:
    """Return the `number_row_values` of the ranks among all rows; equal numbers share a rank."""
    from scipy.stats import rankdata

    return number_row_values(rankdata(gold), rankdata(predicted))


def _standardized(numbers: np.ndarray) -> Any:
    return (numbers - numbers.mean()) / (numbers.std() or 1.0)


def pearson_of_sums(sums: np.ndarray) -> np.ndarray:
    """Compute Pearson's correlation from the sums of `number_row_values`."""
    rows, sum_1, sum_2, square_1, square_2, product = sums
    covariance = product - sum_1 * sum_2 / rows
    return _correlation(covariance / rows, square_1 / rows - (sum_1 / rows) ** 2, square_2 / rows - (sum_2 / rows) ** 2)


def weighted_spearman(gold: Sequence[Any], predicted: Sequence[Any]) -> ScoresOfWeights:
    """Prepare Spearman's correlations of resamples; each resample has ranks of its own."""
    import numpy as np

    ranks_of = [_weighted_ranks(np.asarray(values, float)) for values in (gold, predicted)]

    def scores(weights: np.ndarray) -> np.ndarray:
        rows = weights.sum(axis=1, keepdims=True)
        first, second = ((ranks(weights) - (rows + 1) / 2) / rows for ranks in ranks_of)  # the mean rank is (rows+1)/2
        weights = weights / rows
        weighted_first = weights * first
        return _correlation(
            (weighted_first * second).sum(axis=1),
            (weighted_first * first).sum(axis=1),
            (weights * second**2).sum(axis=1),
        )

    return scores


def _weighted_ranks(values: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Prepare the ranks of values that stand in a resample as often as their weights say; equal values share a rank."""
    import numpy as np

    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    group_of = np.empty(len(values), dtype=np.int64)
    group_of[order] = np.repeat(np.arange(len(starts)), np.diff([*starts, len(values)]))

    def ranks(weights: np.ndarray) -> np.ndarray:
        counts = np.add.reduceat(weights[:, order], starts, axis=1)
        return np.asarray((np.cumsum(counts, axis=1) - counts / 2 + 0.5)[:, group_of])

    return ranks


def _correlation(covariance: Any, variance_1: Any, variance_2: Any) -> np.ndarray:
    """Divide a covariance by the deviations; nan where one of the variances is 0."""
    import numpy as np

    varied = (variance_1 > NO_VARIANCE) & (variance_2 > NO_VARIANCE)
    return np.where(varied, covariance / np.sqrt(np.where(varied, variance_1 * variance_2, 1)), np.nan)
