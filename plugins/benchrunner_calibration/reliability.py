"""Reliability: for each bin of confidence, how many answers of a system are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from benchrunner import Metric, Undefined
from benchrunner.engine import metrics
from benchrunner.results import intervals
from benchrunner_calibration.binning import Binning
from benchrunner_statistics import example_interval

SHARE = Metric.of_sums("share", metrics.mean_of_rows(lambda unit, right: right))
"""The share of rows with the value 1."""


@final
@dataclass(frozen=True)
class Bin:
    """The answers with a confidence from `low` to `high`, those of all restarts together."""

    low: float
    high: float
    answers: int
    confidence: float
    """Mean confidence."""
    accuracy: float
    interval: intervals.Interval
    """Interval of 95 % of the accuracy, for other rows or clusters."""


def reliability(
    restarts: Sequence[tuple[np.ndarray, np.ndarray]], units: Sequence[Any], binning: Binning, folds: int
) -> tuple[Bin, ...]:
    """Put the answers of all restarts into bins; bins without answers are left out.

    `restarts` has the confidences and the right answers of each restart, and `units` the cluster or number of each row.
    """
    confidence, right = np.concatenate(restarts, axis=1)
    numbers = binning.numbers(confidence)
    bins = []
    for number in np.unique(numbers):
        (inside,) = np.nonzero(numbers == number)
        of_bin = right[inside].tolist()
        unit_of = [units[row % len(units)] for row in inside.tolist()]  # the restarts answered the same rows
        try:
            interval = example_interval(SHARE, unit_of, [of_bin], clusters=unit_of, folds=folds)
        except Undefined:  # of one unit
            interval = intervals.Interval(0.0, 1.0)
        inner = confidence[inside]
        bins.append(
            Bin(
                float(inner.min()),
                float(inner.max()),
                len(of_bin),
                float(inner.mean()),
                float(np.mean(of_bin)),
                interval,
            )
        )
    return tuple(bins)
