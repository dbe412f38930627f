"""The expected best of several trials, against the mean over every possible set of them."""

import itertools
from statistics import fmean

import pytest

from benchrunner_statistics import expected_best


def test_expected_best_is_the_mean_over_all_sets() -> None:
    scores = [0.61, 0.58, 0.70, 0.61, 0.49]
    expected = [fmean(map(max, itertools.combinations(scores, trials))) for trials in range(1, len(scores) + 1)]
    assert expected_best(scores) == pytest.approx(expected)


def test_one_trial_is_the_mean_and_no_trial_is_nothing() -> None:
    assert expected_best([0.5, 0.7]) == pytest.approx([0.6, 0.7])
    assert expected_best([]) == []
