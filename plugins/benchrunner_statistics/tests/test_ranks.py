"""Ranks from pairs, and the correction that counts only reports that can be false together."""

import itertools
import math

import pytest

from benchrunner.studies.entries import MeanRank, Ranks
from benchrunner_statistics.corrections import directional
from benchrunner_statistics.ranks import mean_ranks, ranks


def test_ranks_count_those_that_are_clearly_better_or_worse() -> None:
    found = ranks("abcd", {("a", "c"), ("b", "c"), ("a", "d")})
    assert found == {"a": Ranks(1, 2), "b": Ranks(1, 3), "c": Ranks(3, 4), "d": Ranks(2, 4)}
    assert [name for name, rank in found.items() if rank.is_best] == ["a", "b"]


def test_without_clear_pairs_every_rank_is_possible() -> None:
    assert set(ranks("abc", set()).values()) == {Ranks(1, 3)}


def test_mean_ranks_have_the_means_of_the_bounds() -> None:
    scores = [{"a": 0.9, "b": 0.7, "c": 0.7}, {"a": 0.5, "b": 0.6, "c": 0.1}]
    of_columns = [ranks("abc", {("a", "b"), ("a", "c")}), ranks("abc", {("a", "c"), ("b", "c")})]
    assert mean_ranks(scores, of_columns) == {
        "a": MeanRank(1.5, 1.0, 1.5, is_best=True),
        "b": MeanRank(1.75, 1.5, 2.5, is_best=True),
        "c": MeanRank(2.75, 2.5, 3.0, is_best=False),
    }
    assert mean_ranks([], []) == {}


def test_of_three_systems_the_second_p_value_is_doubled() -> None:
    """If two systems differ, the third may equal one: four reports would be false, half of them in each direction."""
    adjusted = directional({("b", "a"): 0.01, ("c", "a"): 0.03, ("c", "b"): 0.02})
    assert adjusted == pytest.approx({("b", "a"): 0.01 * 3, ("c", "b"): 0.02 * 2, ("c", "a"): 0.03 * 2})


def test_against_one_system_every_other_may_be_equal() -> None:
    p_values = {("b", "a"): 0.01, ("c", "a"): 0.03, ("d", "a"): 0.02}
    adjusted = directional(p_values)
    assert adjusted == pytest.approx({("b", "a"): 0.01 * 3, ("d", "a"): 0.02 * 2.5, ("c", "a"): 0.03 * 2})


def most_equal_pairs(systems: int, different: int) -> int:
    """Try every way to divide systems into groups of equal ones, with so many pairs of different systems or more."""
    most = 0
    for labels in itertools.product(range(systems), repeat=systems):
        equal = sum(a == b for a, b in itertools.combinations(labels, 2))
        if math.comb(systems, 2) - equal >= different:
            most = max(most, equal)
    return most


@pytest.mark.parametrize("systems", [3, 4, 5])
def test_the_multipliers_count_reports_that_can_be_false(systems: int) -> None:
    """Each p-value is ten times the one before, so that its own multiplier counts."""
    pairs = list(itertools.combinations(range(systems), 2))
    p_values = {pair: 10.0 ** (rank - 20) for rank, pair in enumerate(pairs)}
    adjusted = directional(p_values)
    for rank, pair in enumerate(pairs):
        false_reports = len(pairs) + most_equal_pairs(systems, rank)
        assert adjusted[pair] / p_values[pair] == pytest.approx(false_reports / 2)
