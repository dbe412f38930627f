"""Suites of tasks that are reported together, and the averages over their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


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

    def on(self, splits: Mapping[str, str]) -> Average:
        """The same average over other splits: `{"dev": "test"}` is what a leaderboard takes. Others stay."""

        def moved(term: Term) -> Term:
            return replace(term, split=splits.get(term.split, term.split))

        return replace(self, terms=tuple(tuple(moved(term) for term in group) for group in self.terms))

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
