"""Ranks of systems from tests of all their pairs: which systems may be the best, and intervals of ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar, final

Name = TypeVar("Name", bound=Hashable)


@final
@dataclass(frozen=True)
class Ranks:
    """The ranks that a system may have in a column; 1 is the best. The intervals of all systems hold together."""

    low: int
    """One more than the number of systems that are clearly better."""
    high: int
    """The number of systems, less those that are clearly worse."""

    @property
    def is_best(self) -> bool:
        """Whether no system is clearly better: the system is the best, or tied with others for the best."""
        return self.low == 1


@final
@dataclass(frozen=True)
class MeanRank:
    """The mean rank of a system over several columns, with an interval that holds together with those of all others."""

    mean: float
    """Mean of the ranks by the measured scores; equal scores share the mean of their ranks."""
    low: float
    """Mean of the lower ends of the ranks' intervals."""
    high: float
    """Mean of the upper ends."""
    is_best: bool
    """Whether no other system's interval lies below: the system may have the lowest mean rank."""


def ranks(systems: Sequence[Name], clearly_better: Collection[tuple[Name, Name]]) -> dict[Name, Ranks]:
    """Return the ranks that each system may have.

    `clearly_better` has the pairs whose first system is better, from tests of all pairs that keep a family-wise level:
    with the same probability, all intervals contain the true ranks (Mogstad, Romano, Shaikh and Wilhelm 2024).
    """
    better = Counter(worse for _, worse in clearly_better)
    worse = Counter(winner for winner, _ in clearly_better)
    return {system: Ranks(1 + better[system], len(systems) - worse[system]) for system in systems}


def mean_ranks(
    scores: Sequence[Mapping[Name, float]], intervals: Sequence[Mapping[Name, Ranks]]
) -> dict[Name, MeanRank]:
    """Return the mean rank of each system over columns, which all have scores and ranks of the same systems."""
    measured = [_measured(of_column) for of_column in scores]
    lows = {}
    highs = {}
    for system in scores[0] if scores else ():
        lows[system] = fmean(of_column[system].low for of_column in intervals)
        highs[system] = fmean(of_column[system].high for of_column in intervals)
    of_system = {}
    for system, low in lows.items():
        mean = fmean(of_column[system] for of_column in measured)
        of_system[system] = MeanRank(mean, low, highs[system], is_best=low <= min(highs.values()))
    return of_system


def _measured(scores: Mapping[Name, float]) -> dict[Name, float]:
    """Rank systems by their scores, the highest first; equal scores share the mean of their ranks."""
    measured = {}
    for system, score in scores.items():
        above = sum(other > score for other in scores.values())
        equal = sum(other == score for other in scores.values())
        measured[system] = above + (equal + 1) / 2
    return measured
