"""Suites of tasks that are reported together, and the averages over their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One figure inside an average: a task's metric on a split."""

    task: str
    split: str
    metric: str


@dataclass(frozen=True)
class Average:
    """A mean over terms; figures in one inner tuple are averaged first."""

    name: str
    terms: tuple[tuple[Term, ...], ...]

    def of(self, cells: Mapping[Term, float]) -> float | None:
        """The average, or None where a figure is missing."""
        if any(term not in cells for group in self.terms for term in group):
            return None
        means = [sum(cells[term] for term in group) / len(group) for group in self.terms]
        return sum(means) / len(means)


@dataclass(frozen=True)
class Suite:
    """Tasks that are reported together, and the averages that are taken over them."""

    name: str
    averages: tuple[Average, ...] = ()
    """Over dev splits; each is printed under its own name."""
