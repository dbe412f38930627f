"""Errors of cross-validated scores: those of independent rows, times the root of 2 - 1 / folds."""

import math

import numpy as np
import pytest
from scipy import stats

from benchrunner import ACCURACY
from benchrunner_statistics import example_interval, paired_test
from benchrunner_statistics.example_intervals import interval_of_scored
from benchrunner_statistics.paired_tests import Side, compare_sides
from benchrunner_statistics.scored_answers import ScoredAnswers

ROWS = 200
GOLD = [1] * ROWS
RIGHT = np.random.default_rng(0).random((2, 2, ROWS)) < np.array([0.8, 0.6])[:, None, None]  # (systems, restarts, rows)


def scored(system: int, folds: int, restarts: int = 1) -> list[ScoredAnswers]:
    answers = RIGHT[system, :restarts].astype(int).tolist()
    return [ScoredAnswers(ACCURACY, GOLD, restart, None, folds) for restart in answers]


@pytest.mark.parametrize("folds", [2, 5, ROWS])
def test_the_interval_is_that_of_fewer_rows(folds: int) -> None:
    interval = interval_of_scored(scored(0, folds))
    rows = (ROWS - 1) / (2 - 1 / folds)
    hits = RIGHT[0, 0].mean() * rows
    expected = (stats.beta.ppf(0.025, hits, rows - hits + 1), stats.beta.ppf(0.975, hits + 1, rows - hits))
    assert (interval.low, interval.high) == pytest.approx(expected)
    assert interval == example_interval(ACCURACY, GOLD, RIGHT[0, :1].astype(int).tolist(), folds=folds)


def test_two_cross_validations_are_tested_with_this_error() -> None:
    a, b = RIGHT[0, 0].astype(float), RIGHT[1, 0].astype(float)
    answers = RIGHT.astype(int).tolist()
    compared = paired_test(ACCURACY, GOLD, answers[0][:1], answers[1][:1], folds=5)
    error = math.sqrt(1.8 * (a - b).var(ddof=1) / ROWS)
    freedom = (a != b).sum() - 1  # rows that are answered alike tell nothing
    assert compared.p == pytest.approx(2 * stats.t.sf((a - b).mean() / error, freedom), rel=1e-4)
    assert compared.high - compared.difference == pytest.approx(stats.t.ppf(0.975, freedom) * error)
    assert (compared.method, compared.claim) == ("rows", "fits")


def test_folds_of_one_side_are_enough_for_the_test_of_folds() -> None:
    sides = [Side.of_restarts(scored(system, folds)) for system, folds in ((0, 1), (1, 5))]
    assert compare_sides(*sides).method == compare_sides(*reversed(sides)).method == "rows"


def test_only_the_part_of_the_rows_grows() -> None:
    plain, folded = (
        compare_sides(Side.of_restarts(scored(0, folds, 2)), Side.of_restarts(scored(1, folds, 2))) for folds in (1, 5)
    )
    assert folded.parts[0].variance == pytest.approx(1.8 * plain.parts[0].variance)
    assert folded.parts[1:] == plain.parts[1:]
