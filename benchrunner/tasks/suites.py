"""Suites of tasks that are reported together, and the averages over their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """A figure that enters an average: a metric of a task on a split."""

    task: str
    split: str
    metric: str


@dataclass(frozen=True)
class Average:
    """The mean over several figures, as benchmarks report it."""

    name: str
    terms: tuple[tuple[Term, ...], ...]
    """The figures. Those of an inner tuple are averaged first, for example two metrics of one task."""

    def of(self, cells: Mapping[Term, float]) -> float | None:
        """Compute the average; None if a figure is missing."""
        means = []
        for group in self.terms:
            if not all(term in cells for term in group):
                return None
            means.append(sum(cells[term] for term in group) / len(group))
        return sum(means) / len(means)


@dataclass(frozen=True)
class Suite:
    """Tasks that are reported together, and the averages over their figures."""

    name: str
    averages: tuple[Average, ...] = ()
    """Averages over figures on dev splits; tables show each under its name."""
