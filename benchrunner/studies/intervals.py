"""Intervals that need no rows: of a mean over other restarts, and of a share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float

    def as_json(self) -> list[float]:
        """Return the interval as JSON: a list of its lower and its upper end."""
        return [self.low, self.high]


def restart_interval(
    scores: Sequence[float], *, confidence: float = 0.95, limits: tuple[float, float] | None = None
) -> Interval | None:
    """Return a confidence interval of the mean score for other restarts on the same rows; None for equal scores or one.

    The interval is Student's: mean ± t * deviation / sqrt(n). At 95 %, t is 12.7 for two restarts and 4.3 for three.
    It does not pass the `limits` of the scores.
    """
    count = len(scores)
    if len(set(scores)) < 2:
        return None
    mean = math.fsum(scores) / count
    squares = math.fsum((score - mean) ** 2 for score in scores)
    error = math.sqrt(squares / (count - 1) / count)
    return student_interval(mean, error, count - 1, confidence, limits)


def student_interval(
    mean: float, error: float, freedom: float, confidence: float, limits: tuple[float, float] | None
) -> Interval:
    """Return Student's interval, within limits, around a mean whose error has these degrees of freedom."""
    half = student_quantile(freedom, confidence) * error
    low, high = limits or (-math.inf, math.inf)
    return Interval(max(mean - half, low), min(mean + half, high))


def student_quantile(freedom: float, confidence: float) -> float:
    """Return Student's quantile for an interval with two ends."""
    from scipy.special import stdtrit  # scipy.stats takes long to import

    return float(stdtrit(freedom, (1 + confidence) / 2))


def share_interval(count: float, total: float, *, confidence: float = 0.95) -> Interval:
    """Return a confidence interval of a share, of which `count` of `total` were seen (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return Interval(low, high)
