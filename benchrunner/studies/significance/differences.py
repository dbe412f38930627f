"""Differences between systems: one test for each pair and column, corrected for the number of tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar, final

from benchrunner.errors import Undefined, first_line
from benchrunner.statistics import Chance, Comparison
from benchrunner.statistics.corrections import directional
from benchrunner.statistics.paired_test import Side, compare_sides, half_width
from benchrunner.studies.study import Place

ALPHA = 0.05
"""Level of the tests: the probability of even one false mark in a table is at most this."""
RESAMPLES_OF_A_TEST = 40
"""Permutations for each test of a family, at least: the smallest p-value, 1 / (permutations + 1), is then half of what
the correction asks of the first test."""
K = TypeVar("K")


class Pairing(NamedTuple):
    """Two systems or arms that are compared in a column."""

    system: str
    other: str
    column: str

    @property
    def places(self) -> tuple[Place, Place]:
        """The figures that are compared."""
        return (self.system, self.column), (self.other, self.column)


@final
@dataclass(frozen=True)
class SystemDifference:
    """The difference of a system from another one, in a column."""

    comparison: Comparison
    """The first answers are the system's, so that a positive difference is in favour of the system. The interval is
    corrected for all tests of the study, and contains 0 unless the difference is clear."""
    adjusted_p: float
    """The p-value, corrected for all tests of the study and for their directions."""
    chance: Chance | None = None
    """The probability that a new fit of the system beats one of the other; None without several fits of both. Fits
    without a score are the worst."""
    margin: float | None = None
    """The largest difference that counts as equivalent, on the scale of the metric's values; None if none is given."""

    @property
    def is_clear(self) -> bool:
        """Whether the difference survives the correction."""
        return self.adjusted_p < ALPHA

    @property
    def is_equivalent(self) -> bool | None:
        """Whether the corrected interval lies within the margin; None without a margin."""
        return None if self.margin is None else self.comparison.is_equivalent(self.margin)

    @property
    def reversed(self) -> SystemDifference:
        """The difference of the other system from this one."""
        chance = self.chance and Chance(1 - self.chance.value, 1 - self.chance.high, 1 - self.chance.low)
        return replace(self, comparison=self.comparison.reversed, chance=chance)

    def as_json(self) -> dict[str, Any]:
        """Return the test as JSON values."""
        facts = {**vars(self.comparison), "adjusted_p": self.adjusted_p, "is_clear": self.is_clear}
        del facts["parts"]
        facts |= {"detectable": self.comparison.detectable, "chance_of_better": self.chance}
        return {**facts, "is_equivalent": self.is_equivalent}


def corrected_differences(
    sides: Mapping[K, Side], pairs: Iterable[tuple[K, K]]
) -> tuple[dict[tuple[K, K], SystemDifference], dict[tuple[K, K], str]]:
    """Test pairs of systems or arms, corrected for the number of tests that can find a difference.

    Where all answers of two systems are equal, nothing is tested. The second value has the reasons why there is no
    test.
    """
    pairs = list(pairs)
    resamples = RESAMPLES_OF_A_TEST * len(pairs)
    comparisons: dict[tuple[K, K], Comparison] = {}
    absent = {}
    for key, first in pairs:
        try:
            comparisons[key, first] = compare_sides(sides[key], sides[first], at_least=resamples)
        except Undefined as reason:
            absent[key, first] = first_line(reason)
    tested = {pair: comparison for pair, comparison in comparisons.items() if comparison.parts}
    adjusted = directional({pair: comparison.p for pair, comparison in tested.items()})
    differences = {}
    for pair, comparison in comparisons.items():
        adjusted_p = adjusted.get(pair, 1.0)
        corrected = _corrected(comparison, len(tested), is_clear=adjusted_p < ALPHA)
        differences[pair] = SystemDifference(corrected, adjusted_p)
    return differences, absent


def _corrected(comparison: Comparison, tests: int, *, is_clear: bool) -> Comparison:
    """Return a comparison whose interval holds together with those of all tests, and says what the mark says.

    The interval is Bonferroni's. The correction of p-values is less strict, and single fits have a test of their own,
    so that the interval may contain 0 although the difference is clear, or the reverse: then it ends at 0.
    """
    if not comparison.parts:
        return comparison
    alpha = ALPHA / tests
    half = half_width(comparison.parts, alpha)
    low = comparison.difference - half
    high = comparison.difference + half
    if not is_clear:
        low = min(low, 0.0)
        high = max(high, 0.0)
    elif comparison.difference > 0:
        low = max(low, 0.0)
    else:
        high = min(high, 0.0)
    return replace(comparison, low=low, high=high, confidence=1 - alpha)
