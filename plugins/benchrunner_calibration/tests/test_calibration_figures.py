"""Figures of calibration, beside scikit-learn, brute force and values worked out by hand."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.calibration import calibration_curve

from benchrunner import GoldRow, Metric, RequestError, Undefined
from benchrunner.engine import probabilities as of_scores
from benchrunner.results import intervals
from benchrunner_calibration.binning import EQUAL_WIDTH, Binning
from benchrunner_calibration.measures import ERROR, SQUARE, TESTED, confidence_and_right, measures
from benchrunner_calibration.reliability import reliability
from benchrunner_calibration.temperature import HIGHEST, LOWEST, crossed, fitted_temperature, temperature_measures
from benchrunner_statistics import example_interval, paired_test
from benchrunner_tasks import log_loss

Answers = tuple[list[int], list[list[float]]]
"""The right label of each row, and its probabilities."""


def made(rows: int = 200, labels: int = 3, sharpness: float = 2.0, seed: int = 0) -> Answers:
    """Answers with logits that are `sharpness` times too large."""
    draw = np.random.default_rng(seed)
    logits = draw.normal(0, 1.5, (rows, labels))
    gold = (logits + draw.gumbel(size=logits.shape)).argmax(axis=1)
    return gold.tolist(), of_scores.softmax(sharpness * logits).tolist()


def at_temperature(given: list[list[float]], temperature: float) -> np.ndarray:
    return of_scores.softmax(np.log(given) / temperature)


def named(name: str, binning: Binning, clusters: str = "") -> Metric:
    return next(metric for metric in measures((), binning, clusters) if metric.name == name)


def squared(confidence: list[float], right: list[int], bins: int, units: list[int] | None = None) -> float:
    """The squared error of answers to questions with two labels, of which the first is the answer."""
    gold: list[Any] = [1 - value for value in right]
    if units is not None:
        gold = [GoldRow(value, {"unit": unit}) for value, unit in zip(gold, units, strict=True)]
    metric = named(SQUARE, Binning(bins), "unit" if units is not None else "")
    return metric.value(gold, [[value, 1 - value] for value in confidence])


@pytest.mark.parametrize("kind", ["uniform", "quantile"])
def test_bins_are_those_of_scikit_learn(kind: str) -> None:
    answered = confidence_and_right(*made(500, 2), ())
    binning = Binning(10, EQUAL_WIDTH) if kind == "uniform" else Binning(10)
    accuracy, confidence = calibration_curve(answered[1], answered[0], n_bins=10, strategy=kind)
    bins = reliability([answered], range(500), binning, 1)
    assert [part.accuracy for part in bins] == pytest.approx(accuracy.tolist())
    assert [part.confidence for part in bins] == pytest.approx(confidence.tolist())


def test_a_bin_of_one_unit_says_nothing_about_others() -> None:
    answered = np.array([0.8, 0.9]), np.array([1.0, 0.0])
    (alone,) = reliability([answered], ["a", "a"], Binning(1), 1)
    assert (alone.accuracy, alone.interval) == (0.5, intervals.Interval(0.0, 1.0))


def test_restarts_that_answer_alike_are_one_answer() -> None:
    answered = confidence_and_right(*made(100, 2), ())
    once, twice = (reliability([answered] * count, range(100), Binning(1), 1) for count in (1, 2))
    assert (once[0].answers, twice[0].answers) == (100, 200)
    assert once[0].interval.low == pytest.approx(twice[0].interval.low, abs=0.01)


def test_the_plain_error_is_that_of_brute_force() -> None:
    answers = made(300)
    confidence, right = confidence_and_right(*answers, ())
    total = 0.0
    for low in (0.0, 0.25, 0.5, 0.75):
        rows = [row for row in range(300) if low < confidence[row] <= low + 0.25]
        if rows:
            total += abs(float(np.sum(confidence[rows] - right[rows])))
    assert named("plain ECE", Binning(4, EQUAL_WIDTH)).value(*answers) == pytest.approx(total / 300)


def test_confidence_and_overconfidence_by_hand() -> None:
    answers = [0, 0], [[0.9, 0.1], [0.4, 0.6]]
    assert named("confidence", Binning()).value(*answers) == pytest.approx(0.75)
    assert named("overconfidence", Binning()).value(*answers) == pytest.approx(0.25)


def test_equal_confidences_share_a_bin() -> None:
    assert len(set(Binning(3).numbers(np.array([0.5] * 9 + [0.9])))) == 2


def test_the_squared_error_is_the_mean_over_all_pairs() -> None:
    gold, given = made(40, 2)
    units = np.arange(40) // 2
    confidence, right = confidence_and_right(gold, given, ())
    numbers = Binning(3).numbers(confidence)
    gaps = confidence - right
    total = 0.0
    for number in range(3):
        rows = np.flatnonzero(numbers == number)
        pairs = [gaps[a] * gaps[b] for a, b in combinations(rows, 2) if units[a] != units[b]]
        total += len(rows) * float(np.mean(pairs))
    value = squared(confidence.tolist(), right.astype(int).tolist(), 3, units.tolist())
    assert value == pytest.approx(total / 40)


def test_equal_confidences_give_the_estimator_of_kumar() -> None:
    share = 3 / 5  # (confidence - share)² less share (1 - share) / (n - 1)
    assert squared([0.9] * 5, [1, 1, 0, 1, 0], 4) == pytest.approx((0.9 - share) ** 2 - share * (1 - share) / 4)


def test_a_copy_of_a_row_in_a_resample_makes_no_pair() -> None:
    weighted = named(SQUARE, Binning(1)).weighted
    assert weighted is not None
    scores = weighted([0, 1, 0, 1], [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    gaps = [-0.1, 0.8]
    assert scores(np.array([[2.0, 1.0, 0.0, 0.0]]))[0] == pytest.approx(gaps[0] * gaps[1])
    assert np.isnan(scores(np.array([[2.0, 0.0, 0.0, 0.0]]))[0])


def test_a_single_cluster_has_no_squared_error() -> None:
    with pytest.raises(Undefined, match="two or more clusters"):
        squared([0.9, 0.8], [1, 0], 1, [0, 0])


def test_the_squared_error_has_no_bias() -> None:
    plain, debiased = [], []
    for seed in range(400):
        answers = made(100, 2, sharpness=1.0, seed=seed)
        plain.append(named("plain ECE", Binning(10)).value(*answers))
        debiased.append(named(SQUARE, Binning(10)).value(*answers))
    assert abs(np.mean(debiased)) < 3 * np.std(debiased) / math.sqrt(400)
    assert np.mean(plain) > 0.08


def test_the_interval_of_a_square_may_contain_zero() -> None:
    gold, given = made(200, 2, sharpness=1.0)
    interval = example_interval(named(SQUARE, Binning(10)), gold, [given])
    assert interval.low < 0 < interval.high


def test_the_error_is_the_root_and_zero_for_a_negative_square() -> None:
    sharp, calm = made(400, 2, 3.0), ([0, 1], [[0.5, 0.5], [0.5, 0.5]])
    error, square = named(ERROR, Binning(5)), named(SQUARE, Binning(5))
    assert error.value(*sharp) == pytest.approx(math.sqrt(square.value(*sharp)))
    assert square.value(*calm) < 0 == error.value(*calm)


def test_tests_find_the_overconfident_system() -> None:
    gold, sharp = made(400, 2, 3.0)
    _, calm = made(400, 2, 1.0)
    for name in TESTED:
        comparison = paired_test(named(name, Binning(10)), gold, [sharp], [calm])
        assert comparison.gain < 0 and comparison.p < 0.01


@pytest.mark.parametrize(("labels", "sharpness"), [(2, 3.0), (3, 0.4), (4, 1.0)])
def test_the_temperature_is_that_of_scipy(labels: int, sharpness: float) -> None:
    gold, given = made(300, labels, sharpness)
    best = minimize_scalar(
        lambda value: log_loss(()).value(gold, list(at_temperature(given, math.exp(value)))),
        bounds=(-3, 3),
        method="bounded",
    )
    assert fitted_temperature(np.array(gold), np.array(given)) == pytest.approx(math.exp(best.x), rel=1e-3)


def test_temperatures_have_limits() -> None:
    given, probabilities = np.array([0, 1]), np.array([[0.7, 0.3], [0.2, 0.8]])
    assert fitted_temperature(given, probabilities) == LOWEST
    assert fitted_temperature(1 - given, probabilities) == HIGHEST


def test_each_half_has_the_temperature_of_the_other() -> None:
    gold, given = made(100)
    half = np.arange(100) < 40
    right, matrix = np.array(gold), np.array(given)
    tempered = crossed(right, matrix, half)
    of_second = fitted_temperature(right[~half], matrix[~half])
    assert tempered[half] == pytest.approx(at_temperature(given[:40], of_second))


def test_a_label_that_a_row_does_not_offer_stays_impossible() -> None:
    right, matrix = np.array([0, 1, 0, 1]), np.array([[0.6, 0.4, 0.0], [0.5, 0.2, 0.3]] * 2)
    tempered = crossed(right, matrix, np.array([True, True, False, False]))
    assert tempered[0, 2] == tempered[2, 2] == 0 and tempered.sum(axis=1) == pytest.approx(1)


def test_a_change_is_the_difference_of_the_figures() -> None:
    gold, given = made(seed=1)
    half = np.arange(200) % 2 == 0
    compared = [named(name, Binning(8)) for name in TESTED]
    tempered = list(crossed(np.array(gold), np.array(given), half))
    temperature, after, *changes = temperature_measures((), half, compared)
    assert temperature.value(gold, given) == fitted_temperature(np.array(gold), np.array(given))
    assert after.value(gold, given) == named(ERROR, Binning(8)).value(gold, tempered)
    for metric, change in zip(compared, changes, strict=True):
        value = metric.value(gold, tempered) - metric.value(gold, given)
        assert change.value(gold, given) == pytest.approx(value, abs=1e-12)
        assert change.weighted is not None
        assert change.weighted(gold, given)(np.ones((1, 200)))[0] == pytest.approx(value, abs=1e-12)
    assert example_interval(changes[-1], gold, [given]).high < 0, "the log loss falls"


@pytest.mark.parametrize("count", [0, 1001])
def test_a_senseless_number_of_bins_is_refused(count: int) -> None:
    with pytest.raises(RequestError, match="from 1 to 1,000"):
        Binning(count)
