"""Corrections of p-values for the number of tests and looks, and for the directions of systems' differences."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar, final

Name = TypeVar("Name", bound=Hashable)


def directional(
    p_values: Mapping[tuple[Name, Name], float], *, of_one_look: bool = True
) -> dict[tuple[Name, Name], float]:
    """Return the p-value of each test between two systems, adjusted so that the directions of differences hold, too.

    If the tests with an adjusted p-value below 0.05 are reported, each in favour of the system with the higher score,
    the probability of even one report of equal systems or in the wrong direction is at most 5 %. The smallest p-values
    come first, and each is multiplied by half the number of reports that would be false: two for each pair of systems
    that may be equal, one for each other pair. If A and B differ, C can equal at most one of them (Shaffer 1986).
    Systems that no chain of tests connects, such as those of different columns, are independent: where all their
    differences are reported, they no longer count, unless the data is looked at several times (`of_one_look`
    is False). docs/proofs/statistics.md has the proof.
    """
    groups = _connected(p_values)
    adjusted = dict(p_values)
    largest = 0.0
    factor = sum(group.factor for group in set(groups.values()))
    for pair in sorted(p_values, key=lambda pair: p_values[pair]):
        largest = max(largest, min(1.0, factor * p_values[pair]))
        adjusted[pair] = largest
        group = groups[pair[0]]
        factor -= group.factor  # a report changes the factor of its group, and at last leaves none
        group.rejected += 1
        if group.rejected < group.tests or not of_one_look:
            factor += group.factor
    return adjusted


def over_looks(
    looks: Sequence[Mapping[tuple[Name, Name], float]], shares: Sequence[float], level: float
) -> dict[tuple[Name, Name], tuple[int, float]]:
    """Return for each test the look that counts, from 0, and its p-value adjusted for the number of tests and looks.

    `looks` has the p-values of the tests that were made at each look at the growing data, and `shares` the part of the
    level that each planned look has. A test that is below the level at a look stays so, and this look counts; of
    others, the latest look counts. If the shares sum to 1, the probability of even one false report is at most the
    level, whatever the dependence between tests and looks and whoever decides where data is added, or when to stop.
    """
    latest: dict[tuple[Name, Name], tuple[int, float]] = {}
    counting: dict[tuple[Name, Name], tuple[int, float]] = {}
    clear = set[tuple[Name, Name]]()
    for look, (p_values, share) in enumerate(zip(looks, shares, strict=True)):
        for pair, p in p_values.items():
            latest[pair] = (look, 0.0 if pair in clear else min(1.0, p / share))
        p_of_pairs = {pair: p for pair, (_, p) in latest.items()}
        adjusted = directional(p_of_pairs, of_one_look=len(shares) == 1)
        for pair, p in adjusted.items():
            if pair not in clear:
                counting[pair] = (latest[pair][0], p)
            if p < level:
                clear.add(pair)
                latest[pair] = (look, 0.0)  # it is rejected first from now on
    return counting


@final
@dataclass(eq=False)
class _Group:
    """Systems that are connected by tests."""

    systems: set[Any]
    tests: int = 0
    rejected: int = 0

    @property
    def factor(self) -> float:
        """Half the number of reports that would be false, at most."""
        return (self.tests + self.most_true) / 2

    @property
    def most_true(self) -> int:
        """The largest number of tests of equal systems, if as many as `rejected` tests are of different ones."""
        systems = len(self.systems)
        left = systems * (systems - 1) // 2 - self.rejected
        possible = _equal_pairs(systems)
        return min(self.tests - self.rejected, possible[bisect_right(possible, left) - 1])


def _connected(pairs: Iterable[tuple[Name, Name]]) -> dict[Name, _Group]:
    """Map each system to the group of systems with which tests connect it."""
    groups: dict[Name, _Group] = {}
    for system, other in pairs:
        group = groups.setdefault(system, _Group({system}))
        joined = groups.setdefault(other, _Group({other}))
        if joined is not group:
            group.systems |= joined.systems
            group.tests += joined.tests
            groups |= dict.fromkeys(joined.systems, group)
        group.tests += 1
    return groups


@cache
def _equal_pairs(systems: int) -> list[int]:
    """List how many pairs of equal systems there may be, in order: the systems fall into groups of equal ones."""
    counts = {0}
    for size in range(2, systems + 1):
        of_group = size * (size - 1) // 2
        counts.update(of_group + rest for rest in _equal_pairs(systems - size))
    return sorted(counts)
