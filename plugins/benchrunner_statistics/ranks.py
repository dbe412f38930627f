"""Ranks of systems from tests of all their pairs: which systems may be the best, and intervals of ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from statistics import fmean
from typing import TypeVar

from benchrunner.results import entries

Name = TypeVar("Name", bound=Hashable)


def ranks(systems: Sequence[Name], clearly_better: Collection[tuple[Name, Name]]) -> dict[Name, entries.Ranks]:
    """Return the ranks that each system may have.

    `clearly_better` has the pairs whose first system is better, from tests of all pairs that keep a family-wise level:
    with the same probability, all intervals contain the true ranks (Mogstad, Romano, Shaikh and Wilhelm 2024).
    """
    better = Counter(worse for _, worse in clearly_better)
    worse = Counter(winner for winner, _ in clearly_better)
    return {system: entries.Ranks(1 + better[system], len(systems) - worse[system]) for system in systems}


def mean_ranks(
    scores: Sequence[Mapping[Name, float]], intervals: Sequence[Mapping[Name, entries.Ranks]]
) -> dict[Name, entries.MeanRank]:
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
        of_system[system] = entries.MeanRank(mean, low, highs[system], is_best=low <= min(highs.values()))
    return of_system


def _measured(scores: Mapping[Name, float]) -> dict[Name, float]:
    """Rank systems by their scores, the highest first; equal scores share the mean of their ranks."""
    measured = {}
    for system, score in scores.items():
        above = sum(other > score for other in scores.values())
        equal = sum(other == score for other in scores.values())
        measured[system] = above + (equal + 1) / 2
    return measured
