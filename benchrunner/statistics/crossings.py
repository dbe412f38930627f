"""Crossings of two curves: where one system overtakes the other, with the interval of such a place.

The interval are the places where the difference of the curves is not clear, by a test at each place. Its variance is
that of `paired_test`, so that few restarts give wide intervals, not false ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from benchrunner.statistics.paired_test import Side
from benchrunner.statistics.scored_answers import differing, effective_number
from benchrunner.statistics.variance_parts import Part, half_width, interaction

FEWEST_RESTARTS = 3
"""With two restarts, Student's quantile is 12.7 or more, so that an interval would say nothing."""
STEPS = 100
"""Number of places that are tested from one point of the curves to the next."""


@final
@dataclass(frozen=True)
class Stretch:
    """A part of the axis in which the difference of two curves is not clear, so that they may cross."""

    low: float
    high: float
    at: float | None = None
    """Where the means over the restarts cross; None if they do not. Of several crossings, each has a stretch."""
    is_rise: bool = False
    """Whether the first system is ahead beyond `at`."""


@final
@dataclass(frozen=True)
class Crossings:
    """Where the curve of a system crosses that of another one. If they cross once, it is in one of the stretches."""

    first: float
    """Where the curves begin."""
    last: float
    """Where they end."""
    stretches: tuple[Stretch, ...]
    confidence: float | None
    """Confidence of the stretches; None where restarts are too few, so that stretches say nothing."""


def crossings(
    places: Sequence[float], ours: Sequence[Side], theirs: Sequence[Side], *, alpha: float = 0.05
) -> Crossings:
    """Find where the curve of a system crosses that of another one, in straight lines over the logarithm of places.

    `ours` and `theirs` have a side for each place, in ascending order, whose draws are the same seeds everywhere: they
    are paired, because both systems learned from the same sample of training rows. The stretches miss a place of equal
    scores with probability `alpha` at most. Raises `Undefined` if a score has no value without some of the rows.
    """
    has_interval = len(ours[0].draws) >= FEWEST_RESTARTS
    scores = []
    values = []
    sign = ours[0].fits[0].metric.gain(1.0)
    for our, their in zip(ours, theirs, strict=True):
        scores.append(sign * (our.scores - their.scores))
        if has_interval:
            values.append(sign * (our.pseudo_values - their.pseudo_values))
    freedom = _freedom((*ours, *theirs))
    tested = []
    for place, weights in _between(places):
        of_draws = weights @ scores
        half = math.inf
        if has_interval:
            half = _half_width(of_draws, np.tensordot(weights, values, 1), freedom, alpha)
        tested.append((place, float(of_draws.mean()), half))
    return Crossings(places[0], places[-1], tuple(_stretches(tested)), 1 - alpha if has_interval else None)


def _freedom(sides: Sequence[Side]) -> float:
    """Return the degrees of freedom of the rows: the effective blocks less one, of rows with unequal answers."""
    first = sides[0].fits[0]
    rows = np.zeros(len(first.gold), dtype=bool)
    for side in sides:
        rows |= side.changing_rows | differing(first.answers, side.fits[0].answers)
    return max(1.0, effective_number(first.blocks[rows]) - 1) if rows.any() else 1.0


def _between(places: Sequence[float]) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the places of points and those between them, with the weights of the points there."""
    for number in range((len(places) - 1) * STEPS + 1):
        weights = np.maximum(0, 1 - np.abs(number / STEPS - np.arange(len(places))))
        place = math.exp(weights @ np.log(places)) if number % STEPS else places[number // STEPS]
        yield place, weights


def _half_width(of_draws: np.ndarray, values: np.ndarray, freedom: float, alpha: float) -> float:
    """Compute half the width of the interval of a difference; `values` are pseudo-values, (draws, blocks)."""
    draws, blocks = values.shape
    variance = float(values.mean(axis=0).var(ddof=1)) / blocks - interaction(values)
    of_rows = Part(max(0.0, variance), freedom)
    return half_width((of_rows, Part(float(of_draws.var(ddof=1)) / draws, draws - 1)), alpha)


def _stretches(tested: Sequence[tuple[float, float, float]]) -> Iterator[Stretch]:
    """Yield the stretches, from places with their differences and half widths."""
    rises = dict[float, bool]()
    for (place, before, _), (_, after, _) in itertools.pairwise(one for one in tested if one[1]):
        if before * after < 0:
            rises[place] = after > 0
    unclear = {place: abs(difference) <= half or place in rises for place, difference, half in tested}
    for is_unclear, run in itertools.groupby(unclear, key=unclear.__getitem__):
        inside = list(run)
        crossed = [place for place in inside if place in rises]
        for place in crossed:
            yield Stretch(inside[0], inside[-1], place, rises[place])
        if is_unclear and not crossed:
            yield Stretch(inside[0], inside[-1])
