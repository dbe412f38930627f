"""Intervals of medians cover the median as often as they say, whatever the distribution, and equal systems tie."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchrunner_speed.intervals import LEVEL, Estimate, coverage, is_tie, rank_of_low_end, ratio, verdict


@pytest.mark.parametrize("count", [6, 9, 15, 30])
def test_coverage_is_that_of_the_binomial_distribution(count: int) -> None:
    rank = rank_of_low_end(count)
    for tried in (rank, rank + 1):
        inside = stats.binom.cdf(count - tried, count, 0.5) - stats.binom.cdf(tried - 1, count, 0.5)
        assert coverage(count, tried) == pytest.approx(inside)
    assert coverage(count, rank) >= LEVEL > coverage(count, rank + 1)


def test_nine_repeats_have_the_second_and_the_eighth() -> None:
    assert Estimate.of([9, 1, 5, 3, 7, 8, 2, 4, 600]) == Estimate(5, 2, 9)


def test_five_repeats_are_too_few() -> None:
    with pytest.raises(ValueError, match="5 repeats are too few"):
        rank_of_low_end(5)


def test_intervals_of_skewed_times_cover_the_median() -> None:
    source = np.random.default_rng(0)
    hits = 0
    for _ in range(2000):
        estimate = Estimate.of(list(source.lognormal(0, 1.5, size=9)))
        hits += estimate.low <= 1 <= estimate.high
    assert hits / 2000 == pytest.approx(coverage(9, 2), abs=0.015)


def test_a_rate_has_the_interval_of_its_seconds() -> None:
    assert Estimate(2, 1, 4).mapped(lambda seconds: 8 / seconds) == Estimate(4, 2, 8)


def test_a_slow_minute_of_the_machine_leaves_ratios_alone() -> None:
    slowdown = [1, 1, 5, 9, 1, 1, 2, 1, 1]
    slower = [2.0 * factor for factor in slowdown]
    assert ratio(slower, list(map(float, slowdown))) == Estimate(2, 2, 2)


@pytest.mark.parametrize(
    ("times", "tie"),
    [(Estimate(1.2, 0.9, 1.4), True), (Estimate(1.04, 1.02, 1.06), True), (Estimate(1.2, 1.1, 1.3), False)],
)
def test_ratios_near_one_are_ties(times: Estimate, tie: bool) -> None:
    assert is_tie(times) == tie


@pytest.mark.parametrize("comparisons", [1, 7])
def test_equal_systems_are_seldom_told_apart(comparisons: int) -> None:
    """A busy machine: noise of 50 % that both systems have, and 30 % of each timing's own."""
    source = np.random.default_rng(comparisons)
    wrong = 0
    for _ in range(1000):
        common = source.lognormal(0, 0.5, size=(comparisons, 9))
        first, second = (common * source.lognormal(0, 0.3, size=(comparisons, 9)) for _ in range(2))
        ratios = [ratio(list(a), list(b), comparisons) for a, b in zip(first, second, strict=True)]
        wrong += not all(map(is_tie, ratios))
    assert wrong / 1000 <= 0.05 + 0.015


def test_more_comparisons_have_wider_intervals() -> None:
    values = list(map(float, range(1, 10)))
    assert Estimate.of(values, comparisons=7) == Estimate(5, 1, 9)
    assert Estimate.of(values, comparisons=1000) == Estimate(5, 1, 9)  # the widest that there is


def test_a_verdict_names_neighbours_from_the_fastest() -> None:
    seconds = {"slow": [4.0] * 9, "same": [1.01] * 9, "fast": [1.0] * 9}
    assert verdict(seconds) == (
        "fast ties with same (1.01 [1.01, 1.01]), which is 3.96 [3.96, 3.96] times as fast as slow"
    )
