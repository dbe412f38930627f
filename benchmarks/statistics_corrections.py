"""Compares corrections for many tests between systems: how many true differences each shows, and how often it errs.

    python benchmarks/statistics_corrections.py            # 2,000 studies a row: a table of docs/proofs/statistics.md

Scores are normal and their errors known, so that corrections alone matter; the scores of a column are independent, or
those of each half of the systems have much in common, or those of a system in different columns. Tests are two-sided,
and the sign of a difference is its direction. The step-down over the largest statistic (Romano and Wolf 2005, for
directions as in Mogstad et al. 2024) knows the joint distribution of the statistics, which a study would have to
estimate. Cells have the share of the true differences that are shown in the right direction, and in parentheses the
share of studies with a false mark, in percent.
"""

from __future__ import annotations

import argparse
import itertools
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from benchrunner_statistics.corrections import directional

LEVEL = 0.05
STUDIES, DRAWS = 2_000, 4_000
"""Numbers of simulated studies, and of draws of the largest statistic."""
CORRECTIONS = ("Bonferroni", "directions", "Holm", "Shaffer", "largest statistic")


@dataclass(frozen=True)
class Case:
    """Systems whose true scores are in standard errors of a difference of two independent systems."""

    name: str
    scores: tuple[float, ...]
    columns: int
    shared: float = 0.0
    """Correlation of the scores within each half of the systems."""
    between: float = 0.0
    """Correlation of a system's scores in different columns."""

    @property
    def contrasts(self) -> np.ndarray:
        """The differences of all pairs, divided by their standard errors, (pairs, systems)."""
        systems = len(self.scores)
        pairs = list(itertools.combinations(range(systems), 2))
        contrasts = np.zeros((len(pairs), systems))
        for pair, (first, second) in enumerate(pairs):
            contrasts[pair, [first, second]] = 1, -1
        errors = np.einsum("ps,st,pt->p", contrasts, self.covariance, contrasts) ** 0.5
        return np.asarray(contrasts / errors[:, None])

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of the scores of a column."""
        half = np.arange(len(self.scores)) * 2 // len(self.scores)
        shared = self.shared * (half[:, None] == half)
        np.fill_diagonal(shared, 1.0)
        return np.asarray(shared / 2)

    def drawn(self, studies: int, draw: np.random.Generator) -> np.ndarray:
        """Draw the statistics of studies without any difference, (studies, tests)."""
        root = np.linalg.cholesky(self.covariance)
        own = draw.normal(size=(studies, self.columns, len(self.scores)))
        common = draw.normal(size=(studies, 1, len(self.scores)))
        errors = ((1 - self.between) ** 0.5 * own + self.between**0.5 * common) @ root.T
        return np.asarray((errors @ self.contrasts.T).reshape(studies, -1))

    @property
    def true(self) -> np.ndarray:
        """The expected statistics, (tests,)."""
        return np.tile(self.contrasts @ np.array(self.scores), self.columns)


def equal_pairs(systems: int) -> set[int]:
    """Return how many pairs of equal systems there may be."""
    if systems < 2:
        return {0}
    counts = set()
    for size in range(1, systems + 1):
        counts |= {size * (size - 1) // 2 + rest for rest in equal_pairs(systems - size)}
    return counts


def factors(case: Case, column_of: np.ndarray) -> dict[str, np.ndarray]:
    """Return what each correction multiplies ascending p-values by, which stand in these columns: (studies, tests)."""
    tests = column_of.shape[1]
    pairs = tests // case.columns
    possible = equal_pairs(len(case.scores))
    most_equal = np.array([max(count for count in possible if count <= pairs - clear) for clear in range(pairs + 1)])
    claims = (pairs + most_equal) / 2
    claims[-1] = 0.0  # all differences of the column are clear
    equal = np.zeros(column_of.shape)
    directions = np.zeros(column_of.shape)
    for column in range(case.columns):
        is_here = column_of == column
        clear = np.cumsum(is_here, axis=1) - is_here  # tests of the column that come before
        equal += most_equal[clear]
        directions += claims[clear]
    left = np.broadcast_to(tests - np.arange(tests), column_of.shape)
    bonferroni = np.full(column_of.shape, tests)
    return {"Bonferroni": bonferroni, "directions": directions, "Holm": left, "Shaffer": equal}


def clear_tests(case: Case, found: np.ndarray) -> dict[str, np.ndarray]:
    """Return which tests each correction calls clear, (studies, tests)."""
    p_values = 2 * ndtr(-abs(found))
    order = np.argsort(p_values, axis=1)
    ascending = np.take_along_axis(p_values, order, 1)
    column_of = order // (found.shape[1] // case.columns)
    clear = {}
    for name, factor in factors(case, column_of).items():
        are_clear = np.minimum.accumulate(ascending * factor < LEVEL, axis=1)
        clear[name] = np.zeros(found.shape, dtype=bool)
        np.put_along_axis(clear[name], order, are_clear, 1)
    check(case, p_values[0], clear["directions"][0])
    return clear


def check(case: Case, p_values: np.ndarray, clear: np.ndarray) -> None:
    """Compare the clear tests of a study with those of benchrunner."""
    pairs = list[tuple[tuple[int, int], tuple[int, int]]]()
    for column in range(case.columns):
        systems = [(system, column) for system in range(len(case.scores))]
        pairs += itertools.combinations(systems, 2)
    adjusted = directional(dict(zip(pairs, p_values.tolist(), strict=True)))
    assert [p < LEVEL for p in adjusted.values()] == clear.tolist()


def step_down(found: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return which tests a step-down over the largest statistic calls clear, (studies, tests)."""
    both = np.vstack([drawn.T, -drawn.T]).astype(np.float32)  # (claims, draws)
    clear = np.zeros(found.shape, dtype=bool)
    first = float(np.quantile(both.max(axis=0), 1 - LEVEL))
    for study, statistics in enumerate(found):
        claims = np.concatenate([statistics, -statistics])
        made = claims > first
        before = 0
        while made.sum() > before:
            before = int(made.sum())
            made |= claims > np.quantile(both[~made].max(axis=0), 1 - LEVEL)
        clear[study] = made.reshape(2, -1).any(axis=0)
    return clear


def cell(true: np.ndarray, found: np.ndarray, clear: np.ndarray) -> str:
    """Return the share of true differences that are shown, and that of studies with a false mark."""
    is_right = (true != 0) & (np.sign(found) == np.sign(true))
    shown = f"{100 * (clear & is_right)[:, true != 0].mean():.1f} " if (true != 0).any() else ""
    return f"{shown}({100 * (clear & ~is_right).any(axis=1).mean():.1f})"


def steps(systems: int, size: float) -> tuple[float, ...]:
    """Return scores of which each is higher than the one before."""
    return tuple(size * system for system in range(systems))


CASES = (
    Case("2 x 8, all equal", (0, 0), 8),
    Case("2 x 8, better by 3 errors", (0, 3), 8),
    Case("2 x 8, better by 4 errors", (0, 4), 8),
    Case("3 x 1, steps of 3 errors", steps(3, 3), 1),
    Case("3 x 4, one better by 4 errors", (0, 0, 4), 4),
    Case("3 x 8, steps of 3 errors", steps(3, 3), 8),
    Case("5 x 4, steps of 2 errors", steps(5, 2), 4),
    Case("10 x 1, all equal", steps(10, 0), 1),
    Case("10 x 1, steps of 0.1 errors", steps(10, 0.1), 1),
    Case("10 x 1, steps of 1.5 errors", steps(10, 1.5), 1),
    Case("10 x 8, steps of 1.5 errors", steps(10, 1.5), 8),
    Case("10 x 8, half better by 5 errors", (0,) * 5 + (5,) * 5, 8),
    Case("10 x 8, steps of 1 error, halves correlated by 0.8", steps(10, 1), 8, 0.8),
    Case("2 x 8, better by 0.1 errors, columns correlated by 0.8", (0, 0.1), 8, between=0.8),
    Case("3 x 8, one better by 4 errors, columns correlated by 0.8", (0, 0, 4), 8, between=0.8),
    Case("3 x 8, steps of 0.1 errors, columns correlated by 0.8", steps(3, 0.1), 8, between=0.8),
)
"""Numbers of systems and columns, and what is true; an error is the standard error of a difference."""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=STUDIES, help="simulated studies of each row")
    arguments = parser.parse_args()
    print("| systems x columns |", " | ".join(CORRECTIONS), "|\n| --- |", " ---: |" * len(CORRECTIONS))
    for case in CASES:
        draw = np.random.default_rng(0)
        found = case.true + case.drawn(arguments.studies, draw)
        clear = clear_tests(case, found)
        clear["largest statistic"] = step_down(found, case.drawn(DRAWS, draw))
        print(
            f"| {case.name} |", " | ".join(cell(case.true, found, clear[name]) for name in CORRECTIONS), "|", flush=True
        )


if __name__ == "__main__":
    main()
