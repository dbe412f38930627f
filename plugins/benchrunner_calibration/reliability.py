"""Reliability tables: for each bin of confidence, how many answers of a system are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from benchrunner.results import intervals
from benchrunner_calibration.binning import Binning
from benchrunner_calibration.label_answers import LabelAnswers
from benchrunner_calibration.measures import SHARE, Units, estimate


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


def reliability(restarts: Sequence[LabelAnswers], units: Units, binning: Binning) -> tuple[Bin, ...]:
    """Put the answers of all restarts into bins; bins without answers are left out."""
    confidence = np.concatenate([answers.confidence for answers in restarts])
    right = np.concatenate([answers.right for answers in restarts])
    unit_of = np.tile(units.numbers, len(restarts))
    numbers = binning.numbers(confidence)
    bins = []
    for number in np.unique(numbers):
        inside = numbers == number
        of_bin = replace(units, numbers=unit_of[inside], are_clusters=True)  # the restarts answered the same rows
        bins.append(_bin(confidence[inside], right[inside], of_bin))
    return tuple(bins)


def _bin(confidence: np.ndarray, right: np.ndarray, units: Units) -> Bin:
    return Bin(
        float(confidence.min()),
        float(confidence.max()),
        len(right),
        float(confidence.mean()),
        float(right.mean()),
        estimate(SHARE, [right.tolist()], units).interval or intervals.Interval(0.0, 1.0),  # of one unit
    )
