"""Metrics of weighted rows: the scores of thousands of resamples of the same rows, computed at once.

A resample gives every row a weight, which says how often the row counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    import numpy as np

ScoresOfWeights = Callable[["np.ndarray"], "np.ndarray"]
"""Computes the scores of several resamples: weights (resamples, rows) -> scores (resamples,). A score that has no value
is nan."""
Weighted = Callable[[Sequence[Any], Sequence[Any]], ScoresOfWeights]
"""Prepares the scores of resamples from (gold, predicted), both in the order of the rows."""


@final
@dataclass(frozen=True)
class RowSums:
    """How a metric follows from sums over rows, such as counts of hits: then thousands of resamples take no time."""

    row_values: Callable[[Sequence[Any], Sequence[Any]], Any]
    """Computes the values of each row that are summed, (rows, values), from (gold, predicted)."""
    figure: Callable[[np.ndarray], Any]
    """Computes the metric from the sums, (values, resamples) -> (resamples,); nan where the metric has no value."""

    def values(self, gold: Sequence[Any], predicted: Sequence[Any]) -> np.ndarray:
        """Return the values of each row as fp64, (rows, values)."""
        import numpy as np

        return np.asarray(self.row_values(gold, predicted), dtype=np.float64)

    def scores(self, sums: np.ndarray) -> np.ndarray:
        """Compute the scores of resamples from their sums, (resamples, values) -> (resamples,)."""
        import numpy as np

        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.figure(sums.T))


def mean_of_rows(row_value: Callable[[Any, Any], float]) -> RowSums:
    """Describe a metric that is the mean over the rows of `row_value`(gold, predicted)."""

    def row_values(gold: Sequence[Any], predicted: Sequence[Any]) -> list[tuple[float, float]]:
        return [(row_value(right, answer), 1.0) for right, answer in zip(gold, predicted, strict=True)]

    return RowSums(row_values, mean_of_sums)


def mean_of_sums(sums: np.ndarray) -> Any:
    """Divide the sum of the values by the sum of their weights: (2, resamples) -> (resamples,)."""
    return sums[0] / sums[1]
