"""Medians of repeated timings with distribution-free intervals, and ties between systems.

The interval of a median is between two order statistics: k of n independent repeats are below the median with the
probability of k heads in n throws of a coin, whatever the distribution of the times is. Times have a long tail to one
side and jump, so that no normal distribution fits; and a bootstrap of the median of nine values is too narrow.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

LEVEL = 0.95
"""Coverage that an interval of the median has at least."""
SAME = 0.05
"""Differences up to this share are called ties, whatever their interval says: nobody should choose a model by them."""


@final
@dataclass(frozen=True)
class Estimate:
    """The median of repeats, with its interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float], comparisons: int = 1) -> Estimate:
        """Estimate the median of six repeats or more.

        With several `comparisons`, the interval is wider, so that all of theirs hold together with the probability
        `LEVEL`; few repeats give the widest one, from the smallest to the largest value.
        """
        ordered = sorted(values)
        rank = rank_of_low_end(len(ordered), comparisons)
        return cls(statistics.median(ordered), ordered[rank - 1], ordered[-rank])

    def mapped(self, function: Callable[[float], float]) -> Estimate:
        """Return the estimate of a monotone function of the values, such as a rate from seconds."""
        ends = sorted((function(self.low), function(self.high)))
        return Estimate(function(self.value), *ends)


def coverage(count: int, rank: int) -> float:
    """Return how often the interval from the value of this rank, from below, to that from above has the median."""
    outside = sum(math.comb(count, heads) for heads in range(rank))
    return 1 - outside / 2.0 ** (count - 1)


def rank_of_low_end(count: int, comparisons: int = 1) -> int:
    """Return the largest rank whose interval covers the median with `LEVEL`, Bonferroni's for several comparisons.

    It is 2 of 9 repeats, and 1 where not even the smallest and the largest value reach the level of all comparisons.
    """
    if coverage(count, 1) < LEVEL:
        raise ValueError(f"{count} repeats are too few for an interval")
    level = 1 - (1 - LEVEL) / comparisons
    rank = 1
    while coverage(count, rank + 1) >= level:
        rank += 1
    return rank


def ratio(slower: Sequence[float], faster: Sequence[float], comparisons: int = 1) -> Estimate:
    """Estimate how many times as long the first takes as the second, from the ratio in each round.

    What slows a machine down for some seconds slows both systems of a round, and leaves the ratio as it is.
    """
    ratios = [first / second for first, second in zip(slower, faster, strict=True)]
    return Estimate.of(ratios, comparisons)


def is_tie(times: Estimate) -> bool:
    """Whether a ratio may be 1, or is so close to 1 that the difference is not worth a claim."""
    return times.low <= 1 <= times.high or abs(times.value - 1) <= SAME


def verdict(seconds: Mapping[str, Sequence[float]], comparisons: int = 1) -> str:
    """Say in words which systems are faster, from the seconds of each in every round, and which tie.

    Each system is compared with the next slower one. A tie says that no difference was seen, not that there is none;
    the interval of the ratio says which difference there may be. `comparisons` is the number of all of them, so that
    equal systems are told apart in no more than 5 of 100 measurements.
    """
    order = sorted(seconds, key=lambda name: statistics.median(seconds[name]))
    words = order[0]
    for faster, slower in itertools.pairwise(order):
        times = ratio(seconds[slower], seconds[faster], comparisons)
        shown = f"{times.value:.2f} [{times.low:.2f}, {times.high:.2f}]"
        words += f" ties with {slower} ({shown})" if is_tie(times) else f" is {shown} times as fast as {slower}"
        words += ", which" if slower != order[-1] else ""
    return words
