"""Reliability tables: for each bin of confidence, how many answers of a system are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from benchrunner.results import statistics
from benchrunner_calibration.binning import Binning
from benchrunner_calibration.label_answers import LabelAnswers
from benchrunner_calibration.measures import Units

TAIL = 0.025
"""Probability that an interval of 95 % leaves on each side."""


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
    interval: statistics.Interval
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
        bins.append(_bin(confidence[inside], right[inside], unit_of[inside]))
    return tuple(bins)


def _bin(confidence: np.ndarray, right: np.ndarray, units: np.ndarray) -> Bin:
    return Bin(
        float(confidence.min()),
        float(confidence.max()),
        len(right),
        float(confidence.mean()),
        float(right.mean()),
        share_interval(right, units),
    )


def share_interval(right: np.ndarray, units: np.ndarray) -> statistics.Interval:
    """Return the interval of a share of answers, of which those of a unit are not independent (Korn and Graubard 1998).

    It is Clopper and Pearson's exact interval for the number of independent answers that would have the same variance.
    Where every answer has a unit of its own, these are all answers.
    """
    from scipy.special import betaincinv

    count = effective_answers(right, units)
    hits = float(right.mean()) * count
    low = float(betaincinv(hits, count - hits + 1, TAIL)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, count - hits, 1 - TAIL)) if hits < count else 1.0
    return statistics.Interval(low, high)


def effective_answers(right: np.ndarray, units: np.ndarray) -> float:
    """Return how many independent answers tell as much about their share of right ones as these answers of units."""
    from scipy.special import stdtrit

    answers, share = len(right), float(right.mean())
    _, unit_of = np.unique(units, return_inverse=True)
    count = int(unit_of.max()) + 1
    if count == 1 or share in (0, 1):
        return float(count)
    deviations = np.bincount(unit_of, right - share)
    variance = count / (count - 1) * float((deviations**2).sum()) / answers**2
    if not variance:
        return float(count)
    of_independent = share * (1 - share) / (answers - 1)
    quantiles = stdtrit(np.array([answers - 1, count - 1]), 1 - TAIL)
    ratio = float(quantiles[0] / quantiles[1])
    return min(float(answers), answers * of_independent / variance * ratio**2)
