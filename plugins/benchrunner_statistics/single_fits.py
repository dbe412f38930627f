"""The test of two single fits: the answers to random rows or clusters are swapped."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from benchrunner import RowSums, Undefined
from benchrunner_statistics.scored_answers import NUMBERS_IN_MEMORY, ScoredAnswers, differing

PERMUTATIONS = 9_999
"""Number of random permutations. The smallest possible p-value is 0.0001."""
SLOW_PERMUTATIONS = 499
"""Number for metrics that are computed anew for each permutation. The smallest possible p-value is 0.002."""
MOST_WAYS = 100_000
"""With at most so many results of swaps, their probabilities are computed, and nothing is drawn."""
SCREENING, LARGEST_P = 999, 0.05
"""In a large family, a test ends after so many permutations if its p-value is larger than this. A p-value of at most x
is not more probable for it."""
UNITS_OF_A_GROUP = 25
"""With at least so many units in a group, a count for the group is drawn faster than a bit for each unit."""
ROUNDING = 1e-12
"""Differences of scores that are closer to each other are equal but for rounding."""


def swap_test(
    a: ScoredAnswers,
    b: ScoredAnswers,
    *,
    seed: int,
    resamples: int | None = None,
    at_least: int = 0,
) -> float:
    """Return the p-value of the permutation test, which swaps the answers of the two fits in random units.

    A unit is a row, or a cluster of rows, whose answers are swapped together. Units whose swap changes the sums of the
    metric alike are counted together: where few results are possible, p is exact. For answers that are right or wrong,
    this is McNemar's exact test (1947). For correlations, the numbers of each fit are scaled to mean 0 and deviation 1
    before they are swapped, and ranked afterwards for Spearman's.
    """
    row_sums = a.row_sums
    if row_sums and a.row_values.shape != b.row_values.shape:
        row_sums = None  # only one of the fits gives a label that is in no gold answer
    if a.is_correlation and a.metric.weighted:
        a, b, row_sums = a.scaled, b.scaled, None  # ranks change with a swap
    most = most_ways = resamples or max(PERMUTATIONS if row_sums else SLOW_PERMUTATIONS, at_least)
    if row_sums:
        most_ways = max(most, MOST_WAYS)
        swaps = _by_sums(a, b, row_sums, most_ways)
    else:
        swaps = _by_lists(a, b)
    if _ways(swaps.sizes) <= most_ways:
        return swaps.exact_p()
    is_large_family = not resamples and at_least > SCREENING
    return swaps.sampled_p(most, seed, screening=SCREENING if is_large_family else most)


@final
@dataclass(frozen=True)
class Swaps:
    """The swaps of two fits' answers. To swap all units turns a difference round, so that p-values are two-sided."""

    sizes: np.ndarray
    """Number of units in each group of units that are counted together, (groups,)."""
    unswapped: np.ndarray
    """The counts that stand for the answers as they are, (groups,)."""
    difference: Callable[[np.ndarray], np.ndarray]
    """Computes the score differences, (resamples,), from counts, (resamples, groups). A count is as probable as that of
    heads if a coin is tossed for each unit of the group."""

    def exact_p(self) -> float:
        """Return the probability of a difference as large as that of the fits."""
        from scipy.special import gammaln

        if not len(self.sizes):
            return 1.0
        counts = np.indices(tuple(self.sizes + 1)).reshape(len(self.sizes), -1).T
        chosen = gammaln(self.sizes + 1) - gammaln(counts + 1) - gammaln(self.sizes - counts + 1)
        probabilities = np.exp(chosen.sum(axis=1) - self.sizes.sum() * math.log(2))
        return min(1.0, float(probabilities[self._as_large(counts)].sum()))

    def sampled_p(self, permutations: int, seed: int, screening: int) -> float:
        """Return the p-value of random swaps; the answers as they are count as one (Phipson and Smyth 2010).

        If the p-value of the first `screening` swaps is above `LARGEST_P`, nothing is shown, and there are no others.
        """
        generator = np.random.default_rng(seed)
        most = max(1, NUMBERS_IN_MEMORY // len(self.sizes))
        as_large = 1
        done = 0
        while done < permutations:
            batch = min(most, (screening if done < screening else permutations) - done)
            counts = self._drawn(generator, batch)
            as_large += int(self._as_large(counts).sum())
            done += batch
            if done == screening and as_large > LARGEST_P * (done + 1):
                break
        return as_large / (done + 1)

    def _drawn(self, generator: np.random.Generator, resamples: int) -> np.ndarray:
        bits = resamples * len(self.sizes)
        if self.sizes.max() == 1:
            octets = np.frombuffer(generator.bytes(bits // 8 + 1), np.uint8)
            return np.unpackbits(octets, count=bits).reshape(resamples, -1)
        columns = [generator.binomial(size, 0.5, resamples) for size in self.sizes.tolist()]
        return np.stack(columns, axis=1)

    def _as_large(self, counts: np.ndarray) -> np.ndarray:
        observed = self.difference(self.unswapped[None])
        return np.asarray(np.abs(self.difference(counts)) >= np.abs(observed) - ROUNDING)


def _by_sums(a: ScoredAnswers, b: ScoredAnswers, row_sums: RowSums, most_ways: int) -> Swaps:
    """Prepare swaps that change sums over rows; units are counted together if results are few or groups large."""
    sums_a = a.row_values.sum(axis=0)
    sums_b = b.row_values.sum(axis=0)
    columns = [np.bincount(a.units, column) for column in (b.row_values - a.row_values).T]
    effects = np.stack(columns, axis=1)  # (units, values)
    effects = effects[effects.any(axis=1)]
    # Units with opposite effects are a group: to swap one of the one kind is to leave one of the other as it is.
    kinds = Counter(map(tuple, effects.tolist()))  # takes less than half of np.unique's time for 100 units
    groups = sorted({max(kind, _opposite(kind)) for kind in kinds})
    steps = np.array(groups).reshape(-1, effects.shape[1])
    of_groups = np.array([(kinds[kind], kinds[_opposite(kind)]) for kind in groups], np.int64).reshape(-1, 2)
    sizes, unswapped = of_groups.sum(axis=1), of_groups[:, 1].astype(float)
    if len(steps) * UNITS_OF_A_GROUP > len(effects) and _ways(sizes) > most_ways:
        steps, sizes, unswapped = effects, np.ones(len(effects), np.int64), np.zeros(len(effects))

    def difference(counts: np.ndarray) -> np.ndarray:
        moved = (counts - unswapped) @ steps
        differences = row_sums.scores(sums_a + moved) - row_sums.scores(sums_b - moved)
        return np.asarray(np.nan_to_num(differences))

    return Swaps(sizes, unswapped, difference)


def _opposite(effect: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(-value for value in effect)


def _ways(sizes: np.ndarray) -> int:
    """Return how many results are possible if units are counted together in groups of these sizes."""
    return math.prod((sizes + 1).tolist())


def _by_lists(a: ScoredAnswers, b: ScoredAnswers) -> Swaps:
    rows = np.flatnonzero(differing(a.answers, b.answers))
    units, unit_of = np.unique(a.units[rows], return_inverse=True)

    def score(answers: list[Any]) -> float:
        try:
            return a.metric.value(a.gold, answers)
        except Undefined:
            return float("nan")

    def difference(swapped_units: np.ndarray) -> np.ndarray:
        differences = []
        for is_swapped in swapped_units:
            first = list(a.answers)
            second = list(b.answers)
            for row in rows[is_swapped[unit_of] == 1].tolist():
                first[row] = b.answers[row]
                second[row] = a.answers[row]
            differences.append(score(first) - score(second))
        return np.nan_to_num(differences)

    return Swaps(np.ones(len(units), dtype=np.int64), np.zeros(len(units)), difference)
