"""Holm's correction of p-values for the number of tests (Holm 1979)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)


def holm(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """Return the adjusted p-value of each test, in the given order.

    If the tests with an adjusted p-value below 0.05 are reported, the probability of even one false report is at most
    5 %, whatever the dependence between the tests. The k-th smallest of n p-values is multiplied by n - k + 1; an
    adjusted p-value is at least as large as those of smaller p-values, and at most 1.
    """
    adjusted, largest = dict[Name, float](), 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}
