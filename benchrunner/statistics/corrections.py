"""Corrections of p-values for the number of tests: Holm's, and Shaffer's for tests between pairs of systems."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar, final

Name = TypeVar("Name", bound=Hashable)


def holm(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """Return the p-value of each test, adjusted for the number of tests (Holm 1979), in the given order.

    If the tests with an adjusted p-value below 0.05 are reported, the probability of even one false report is at most
    5 %, whatever the dependence between the tests. The k-th smallest of n p-values is multiplied by n - k + 1; an
    adjusted p-value is at least as large as those of smaller p-values, and at most 1.
    """
    # This is Shaffer's correction for tests that have no system in common.
    adjusted = shaffer({((name, "one"), (name, "other")): p for name, p in p_values.items()})
    return {name: p for ((name, _), _), p in adjusted.items()}


def shaffer(p_values: Mapping[tuple[Name, Name], float]) -> dict[tuple[Name, Name], float]:
    """Return the p-value of each test between two systems, adjusted for the number of tests (Shaffer 1986).

    This is Holm's correction, which counts only tests that can still be true together: of three systems of which two
    differ, the third equals at most one, so that one of the two other tests, not both, is of equal systems. Systems
    that no chain of tests connects, such as those of different columns, have no logical constraints between them.
    Where systems are compared with only one of them, the result is Holm's.
    """
    groups = _connected(p_values)
    adjusted = dict(p_values)
    largest = 0.0
    open_tests = sum(group.most_true for group in set(groups.values()))
    for pair in sorted(p_values, key=lambda pair: p_values[pair]):
        largest = max(largest, min(1.0, open_tests * p_values[pair]))
        adjusted[pair] = largest
        group = groups[pair[0]]
        open_tests -= group.most_true
        group.rejected += 1
        open_tests += group.most_true
    return adjusted


@final
@dataclass(eq=False)
class _Group:
    """Systems that are connected by tests."""

    systems: int = 0
    tests: int = 0
    rejected: int = 0

    @property
    def most_true(self) -> int:
        """The largest number of tests of equal systems, if as many as `rejected` tests are of different ones."""
        of_all_pairs = self.systems * (self.systems - 1) // 2
        possible = [count for count in _equal_pairs(self.systems) if count <= of_all_pairs - self.rejected]
        return min(self.tests - self.rejected, max(possible, default=0))


def _connected(pairs: Iterable[tuple[Name, Name]]) -> dict[Name, _Group]:
    """Map each system to the group of systems with which tests connect it."""
    neighbours: dict[Name, list[Name]] = {}
    for system, other in pairs:
        neighbours.setdefault(system, []).append(other)
        neighbours.setdefault(other, []).append(system)
    groups: dict[Name, _Group] = {}
    for start in neighbours:
        if start in groups:
            continue
        group = groups[start] = _Group()
        waiting = [start]
        while waiting:
            system = waiting.pop()
            group.systems += 1
            for other in neighbours[system]:
                if other not in groups:
                    groups[other] = group
                    waiting.append(other)
    for system, of_system in neighbours.items():
        groups[system].tests += len(of_system)
    for group in set(groups.values()):
        group.tests //= 2  # each was counted from both sides
    return groups


@cache
def _equal_pairs(systems: int) -> frozenset[int]:
    """Return how many pairs of equal systems there may be: the systems fall into groups of equal ones."""
    if systems < 2:
        return frozenset({0})
    counts = set[int]()
    for size in range(1, systems + 1):
        of_group = size * (size - 1) // 2
        counts.update(of_group + rest for rest in _equal_pairs(systems - size))
    return frozenset(counts)
