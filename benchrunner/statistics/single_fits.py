"""Tests of two single fits: McNemar's test for right and wrong answers, a permutation test for other metrics."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from benchrunner.errors import Undefined
from benchrunner.metrics import RowSums
from benchrunner.statistics.scored_answers import NUMBERS_IN_MEMORY, ScoredAnswers

PERMUTATIONS = 9_999
"""Number of random permutations. The smallest possible p-value is 0.0002."""
SLOW_PERMUTATIONS = 499
"""Number for metrics that are computed anew for each permutation. The smallest possible p-value is 0.004."""
SCREENING, LARGEST_P = 999, 0.05
"""In a large family, a test with so many permutations comes first; only if its p-value is at most so large, others
follow, and their p-value counts. A p-value of at most x is then as improbable as without the first test."""


def mcnemar(right_a: Sequence[bool], right_b: Sequence[bool]) -> float:
    """Return the p-value of McNemar's exact test (1947).

    If two fits are equally good, each is right on half of the rows that only one of them answers correctly, apart from
    chance.
    """
    from scipy.stats import binomtest

    only_a = 0
    only_b = 0
    for a, b in zip(right_a, right_b, strict=True):
        if a and not b:
            only_a += 1
        elif b and not a:
            only_b += 1
    if not only_a + only_b:
        return 1.0
    return float(binomtest(only_a, only_a + only_b).pvalue)


def swap_test(
    a: ScoredAnswers,
    b: ScoredAnswers,
    *,
    seed: int,
    resamples: int | None = None,
    at_least: int = 0,
) -> float:
    """Return the p-value of the permutation test, which swaps the answers of the two fits in random units.

    A unit is a row, or a cluster of rows, whose answers are swapped together. Only rows with different answers are
    swapped. If there are few units with such rows, every combination of swaps is tried once.
    For correlations, the numbers of each fit are scaled to mean 0 and deviation 1 before they are swapped; for
    Spearman's correlation they are replaced by their ranks first.
    """
    rows = np.array([row for row in range(len(a.gold)) if a.answers[row] != b.answers[row]])  # that may be swapped
    if not len(rows):
        return 1.0
    numbers, unit_of = np.unique(a.units[rows], return_inverse=True)
    swaps = Swaps(rows, unit_of)
    difference = _by_lists(a, b, swaps) if a.row_sums is None else _by_sums(a, b, swaps, a.row_sums)
    most = resamples or max(PERMUTATIONS if a.row_sums else SLOW_PERMUTATIONS, at_least)
    if 2 ** len(numbers) <= most:
        every = np.array(list(itertools.product((1.0, 0.0), repeat=len(numbers))))
        return _two_sided(*_as_large(difference, every), len(every))
    if not resamples and at_least > SCREENING:  # most tests of a large family show nothing, and need no more
        p = _sampled_p(difference, len(numbers), SCREENING, seed)
        if p > LARGEST_P:
            return p
        seed += 1
    return _sampled_p(difference, len(numbers), most, seed)


def _sampled_p(difference: Difference, units: int, permutations: int, seed: int) -> float:
    """Return the p-value of random swaps; the swaps count as one more, as they are (Phipson and Smyth 2010)."""
    generator = np.random.default_rng(seed)
    batch = max(1, NUMBERS_IN_MEMORY // units)
    below = 1
    above = 1
    for start in range(0, permutations, batch):
        size = min(batch, permutations - start)
        from_a = generator.integers(0, 2, (size, units), dtype=np.int8).astype(np.float64)
        of_batch = _as_large(difference, from_a)
        below += of_batch[0]
        above += of_batch[1]
    return _two_sided(below, above, permutations + 1)


def _as_large(difference: Difference, from_a: np.ndarray) -> tuple[int, int]:
    """Count the swaps whose difference is as low as that of the fits, and those whose difference is as high."""
    observed = float(difference(np.ones((1, from_a.shape[1])))[0])
    swapped = difference(from_a)
    rounding = 100 * np.finfo(np.float64).eps * abs(observed)
    return int((swapped <= observed + rounding).sum()), int((swapped >= observed - rounding).sum())


def _two_sided(below: int, above: int, permutations: int) -> float:
    return min(1.0, 2 * min(below, above) / permutations)


Difference = Callable[["np.ndarray"], "np.ndarray"]
"""Computes the score difference of each resample, (resamples,), from numbers (resamples, units) for the units that may
be swapped: 1 where the first system has the answers of fit a, else 0."""


class Swaps(NamedTuple):
    """The rows whose answers may be swapped, and the number of each such row's unit."""

    rows: np.ndarray
    unit_of: np.ndarray


def _by_sums(
    a: ScoredAnswers,
    b: ScoredAnswers,
    swaps: Swaps,
    row_sums: RowSums,
) -> Difference:
    sums_a = a.row_values.sum(axis=0)
    sums_b = b.row_values.sum(axis=0)
    of_rows = (b.row_values - a.row_values)[swaps.rows]
    columns = [np.bincount(swaps.unit_of, column) for column in of_rows.T]
    differences = np.stack(columns, axis=1)  # (units, values)

    def difference(from_a: np.ndarray) -> np.ndarray:
        moved = (1 - from_a) @ differences
        first = row_sums.scores(sums_a + moved)
        second = row_sums.scores(sums_b - moved)
        return np.asarray(np.nan_to_num(first - second))

    return difference


def _by_lists(a: ScoredAnswers, b: ScoredAnswers, swaps: Swaps) -> Difference:
    def score(answers: list[Any]) -> float:
        try:
            return a.metric.value(a.gold, answers)
        except Undefined:
            return float("nan")

    def difference(from_a: np.ndarray) -> np.ndarray:
        differences = []
        for unit_from_a in from_a:
            first = list(a.answers)
            second = list(b.answers)
            swapped = unit_from_a[swaps.unit_of] == 0
            for row in swaps.rows[swapped].tolist():
                first[row] = b.answers[row]
                second[row] = a.answers[row]
            differences.append(score(first) - score(second))
        return np.nan_to_num(differences)

    return difference
