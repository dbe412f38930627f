"""Differences between systems: one test for each pair and column, corrected for the number of tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from benchrunner import Undefined
from benchrunner.engine import first_line
from benchrunner.results import pairs as values
from benchrunner_statistics.corrections import over_looks
from benchrunner_statistics.paired_tests import Side, compare_sides, with_interval

RESAMPLES_OF_A_TEST = 40
"""Permutations for each test of a family, at least: the smallest p-value, 1 / (permutations + 1), is then half of what
the correction asks of the first test."""
K = TypeVar("K")


def shares(looks: Sequence[int]) -> list[float]:
    """Return the share of the level that each look has: what its square adds (Kim and DeMets 1987).

    `looks` are the numbers of restarts. A study without looks has one, at the end.
    """
    of_looks = [(after**2 - before**2) / looks[-1] ** 2 for before, after in itertools.pairwise((0, *looks))]
    return of_looks or [1.0]


def corrected_differences(
    sides: Mapping[K, Side],
    pairs: Iterable[tuple[K, K]],
    *,
    earlier: Sequence[Mapping[K, Side]] = (),
    of_looks: Sequence[float] = (1.0,),
) -> tuple[dict[tuple[K, K], values.Pair], dict[tuple[K, K], str]]:
    """Test pairs of systems or arms, corrected for the number of tests that can find a difference.

    Where all answers of two systems are equal, nothing is tested. `earlier` has the sides at each look before the last,
    and `of_looks` the share of the level that each look has: a difference that is clear at a look is that of this look,
    any other is of the last look at which the pair had more restarts than before. The second value has the reasons why
    there is no test.
    """
    pairs = list(pairs)
    resamples = math.ceil(RESAMPLES_OF_A_TEST * len(pairs) / min(of_looks))
    looks = list[dict[tuple[K, K], values.Comparison]]()
    absent = dict[tuple[K, K], str]()
    fits_before = dict[tuple[K, K], int]()
    for sides_of_look in (*earlier, sides):
        comparisons = {}
        for pair in pairs:
            ours, theirs = (sides_of_look[name] for name in pair)
            fits = len(ours.fits) + len(theirs.fits)
            if fits == fits_before.get(pair):
                continue
            fits_before[pair] = fits
            try:
                comparisons[pair] = compare_sides(ours, theirs, at_least=resamples)
            except Undefined as reason:
                absent[pair] = first_line(reason)
        looks.append(comparisons)
    return _of_looks(looks, of_looks), absent


def _of_looks(
    looks: Sequence[Mapping[tuple[K, K], values.Comparison]], of_looks: Sequence[float]
) -> dict[tuple[K, K], values.Pair]:
    """Return the comparison of each pair at the look that counts, corrected for all tests and looks."""
    p_values = []
    for comparisons in looks:
        p_values.append({pair: comparison.p for pair, comparison in comparisons.items() if comparison.parts})
    adjusted = over_looks(p_values, of_looks, values.ALPHA)
    differences = {}
    for pair in looks[0]:
        look, adjusted_p = adjusted.get(pair, (0, 1.0))
        comparison = looks[look][pair]
        if comparison.parts:  # Bonferroni's interval
            comparison = with_interval(comparison, values.ALPHA * of_looks[look] / len(adjusted))
        differences[pair] = values.Pair(agreeing(comparison, is_clear=adjusted_p < values.ALPHA), adjusted_p)
    return differences


def agreeing(comparison: values.Comparison, *, is_clear: bool) -> values.Comparison:
    """Return a comparison whose interval contains 0 unless the difference is clear.

    The correction of p-values is less strict than that of intervals, and single fits have a test of their own: where
    the two disagree, the interval ends at 0.
    """
    low, high = comparison.low, comparison.high
    if not is_clear:
        return replace(comparison, low=min(low, 0.0), high=max(high, 0.0))
    if comparison.difference > 0:
        return replace(comparison, low=max(low, 0.0))
    return replace(comparison, high=min(high, 0.0))
