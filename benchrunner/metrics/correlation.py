"""Correlations of numbers, computed by scipy."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from benchrunner.errors import Undefined
from benchrunner.metrics.correlation_sums import (
    number_row_values,
    pearson_of_sums,
    rank_row_values,
    weighted_spearman,
)
from benchrunner.metrics.metric import Metric
from benchrunner.metrics.weighting import RowSums


def _correlation(function: str) -> Callable[[Sequence[Any], Sequence[Any]], float]:
    """Give the correlation that a function of scipy.stats computes."""

    def compute(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
        from scipy import stats

        for side, values in (("gold scores", gold), ("predictions", predicted)):
            if not all(math.isfinite(value) for value in values):
                raise Undefined(f"no correlation: not all {side} are finite")
            if len(set(values)) < 2:
                raise Undefined(f"no correlation: all {side} are the same")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scipy warns that nearly constant numbers give an imprecise figure
            return float(getattr(stats, function)(gold, predicted)[0])

    return compute


PEARSON = Metric("pearson", _correlation("pearsonr"), row_sums=RowSums(number_row_values, pearson_of_sums))
"""Pearson's correlation of numbers."""
SPEARMAN = Metric(
    "spearman",
    _correlation("spearmanr"),
    row_sums=RowSums(rank_row_values, pearson_of_sums),
    weighted=weighted_spearman,
)
"""Spearman's rank correlation of numbers."""
