"""Figures of calibration, beside scikit-learn, brute force and values worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from benchrunner import RequestError, Undefined
from benchrunner_calibration.binning import EQUAL_WIDTH, Binning, chance_error, plain_error, squared_error
from benchrunner_calibration.label_answers import LabelAnswers, softmax
from benchrunner_calibration.measures import MEAN, Estimate, Units, changes, compared, estimate, estimates
from benchrunner_calibration.reliability import reliability
from benchrunner_calibration.temperature import HIGHEST, LOWEST, fitted_temperature


def made(rows: int = 200, labels: int = 3, sharpness: float = 2.0, seed: int = 0) -> LabelAnswers:
    """Answers with logits that are `sharpness` times too large."""
    draw = np.random.default_rng(seed)
    logits = draw.normal(0, 1.5, (rows, labels))
    gold = (logits + draw.gumbel(size=logits.shape)).argmax(axis=1)
    return LabelAnswers(gold, logits.argmax(axis=1), softmax(sharpness * logits))


def at_temperature(answers: LabelAnswers, temperature: float) -> LabelAnswers:
    """The answers with probabilities as of logits divided by a temperature."""
    return replace(answers, probabilities=softmax(answers.scores / temperature))


def single(rows: int) -> Units:
    return Units(np.arange(rows), are_clusters=False)


def squared(confidence: list[float], right: list[float], units: list[int], bins: int) -> float:
    return squared_error(Binning(bins)).value(units, list(zip(confidence, right, strict=True)))


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_brier_and_log_loss_are_those_of_scikit_learn(labels: int) -> None:
    answers = made(labels=labels)
    right_labels = np.eye(labels)[answers.gold]
    ours = ((answers.probabilities - right_labels) ** 2).sum(axis=1)
    assert answers.brier == pytest.approx(ours)
    assert answers.log_loss.mean() == pytest.approx(log_loss(answers.gold, answers.probabilities))
    if labels == 2:  # scikit-learn's score is that of one of two labels
        assert answers.brier.mean() == pytest.approx(2 * brier_score_loss(answers.gold, answers.probabilities[:, 1]))


@pytest.mark.parametrize("kind", ["uniform", "quantile"])
def test_bins_are_those_of_scikit_learn(kind: str) -> None:
    answers = made(500, 2)
    binning = Binning(10, EQUAL_WIDTH) if kind == "uniform" else Binning(10)
    accuracy, confidence = calibration_curve(answers.right, answers.confidence, n_bins=10, strategy=kind)
    bins = reliability([answers], single(500), binning)
    assert [part.accuracy for part in bins] == pytest.approx(accuracy.tolist())
    assert [part.confidence for part in bins] == pytest.approx(confidence.tolist())


def test_the_plain_error_is_that_of_brute_force() -> None:
    answers = made(300)
    total = 0.0
    for low in (0.0, 0.25, 0.5, 0.75):
        rows = [row for row in range(300) if low < answers.confidence[row] <= low + 0.25]
        if rows:
            total += abs(float(np.sum(answers.confidence[rows] - answers.right[rows])))
    assert plain_error(answers.confidence, answers.right, Binning(4, EQUAL_WIDTH)) == pytest.approx(total / 300)


def test_equal_confidences_share_a_bin() -> None:
    assert len(set(Binning(3).numbers(np.array([0.5] * 9 + [0.9])))) == 2


def test_the_squared_error_is_the_mean_over_all_pairs() -> None:
    answers = made(40)
    units = np.arange(40) // 2
    numbers = Binning(3).numbers(answers.confidence)
    gaps = answers.confidence - answers.right
    total = 0.0
    for number in range(3):
        rows = np.flatnonzero(numbers == number)
        pairs = [gaps[a] * gaps[b] for a, b in combinations(rows, 2) if units[a] != units[b]]
        total += len(rows) * float(np.mean(pairs))
    given = squared(answers.confidence.tolist(), answers.right.tolist(), units.tolist(), 3)
    assert given == pytest.approx(total / 40)


def test_equal_confidences_give_the_estimator_of_kumar() -> None:
    right = [1.0, 1.0, 0.0, 1.0, 0.0]
    share = 3 / 5  # (confidence - share)² less share (1 - share) / (n - 1)
    assert squared([0.9] * 5, right, [*range(5)], 4) == pytest.approx((0.9 - share) ** 2 - share * (1 - share) / 4)


def test_a_copy_of_a_row_in_a_resample_makes_no_pair() -> None:
    confidence, right = [0.9, 0.8, 0.7, 0.6], [1.0, 0.0, 1.0, 0.0]
    weighted = squared_error(Binning(1)).weighted
    assert weighted is not None
    scores = weighted([0, 1, 2, 3], list(zip(confidence, right, strict=True)))
    gaps = [-0.1, 0.8]
    assert scores(np.array([[2.0, 1.0, 0.0, 0.0]]))[0] == pytest.approx(gaps[0] * gaps[1])
    assert np.isnan(scores(np.array([[2.0, 0.0, 0.0, 0.0]]))[0])


def test_a_single_cluster_has_no_squared_error() -> None:
    with pytest.raises(Undefined, match="two or more clusters"):
        squared([0.9, 0.8], [1.0, 0.0], [0, 0], 1)
    figures = estimates([made(30)], Units(np.zeros(30, dtype=int), are_clusters=True), Binning(5))
    assert figures["calibration_error"].value is None
    assert figures["brier"].value is not None and figures["brier"].interval is None
    assert "only one cluster" in figures["brier"].reason


def test_the_squared_error_has_no_bias() -> None:
    binning, plain, debiased = Binning(10), [], []
    for seed in range(400):
        answers = made(100, 2, sharpness=1.0, seed=seed)
        plain.append(plain_error(answers.confidence, answers.right, binning))
        debiased.append(squared(answers.confidence.tolist(), answers.right.tolist(), [*range(100)], 10))
    error = np.std(debiased) / math.sqrt(400)
    assert abs(np.mean(debiased)) < 3 * error
    assert np.mean(plain) > 0.08
    assert np.mean(plain) == pytest.approx(chance_error(answers.confidence, binning), rel=0.1)


def test_the_error_by_chance_is_exact_for_two_rows() -> None:
    confidence = np.array([0.6, 0.9])
    alone = float(np.mean(2 * confidence * (1 - confidence)))  # |c - right| is 1 - c with the probability c, else c
    assert chance_error(confidence, Binning(10, EQUAL_WIDTH)) == pytest.approx(alone, abs=0.02)
    assert chance_error(confidence, Binning(1)) == pytest.approx(_of_one_bin(confidence), abs=0.02)


def _of_one_bin(confidence: np.ndarray) -> float:
    """The mean of |sum of confidences - right answers| / 2, over the four outcomes of two rows."""
    first, second = confidence
    outcomes = {2: first * second, 1: first + second - 2 * first * second, 0: (1 - first) * (1 - second)}
    return float(sum(share * abs(first + second - count) for count, share in outcomes.items())) / 2


@pytest.mark.parametrize(("labels", "sharpness"), [(2, 3.0), (3, 0.4), (4, 1.0)])
def test_the_temperature_is_that_of_scipy(labels: int, sharpness: float) -> None:
    answers = made(300, labels, sharpness)
    best = minimize_scalar(
        lambda value: at_temperature(answers, math.exp(value)).log_loss.mean(), bounds=(-3, 3), method="bounded"
    )
    assert fitted_temperature(answers) == pytest.approx(math.exp(best.x), rel=1e-3)


def test_temperatures_have_limits() -> None:
    probabilities = np.array([[0.7, 0.3], [0.2, 0.8]])
    given = np.array([0, 1])
    assert fitted_temperature(LabelAnswers(given, given, probabilities)) == LOWEST
    assert fitted_temperature(LabelAnswers(1 - given, given, probabilities)) == HIGHEST


def test_a_label_that_a_row_does_not_offer_stays_impossible() -> None:
    answers = LabelAnswers(np.array([0]), np.array([0]), np.array([[0.6, 0.4, 0.0]]))
    assert at_temperature(answers, 3.0).probabilities[0, 2] == 0
    assert at_temperature(answers, 1.0).probabilities == pytest.approx(answers.probabilities)


def test_restarts_have_a_mean_and_a_deviation() -> None:
    figure = estimate(MEAN, [[0.0, 1.0], [1.0, 1.0]], single(2))
    assert (figure.value, figure.restarts) == (0.75, (0.5, 1.0))
    assert figure.deviation == pytest.approx(math.sqrt(0.125))


def test_a_negative_square_is_shown_as_zero() -> None:
    figure = Estimate.of([-0.02, 0.01]).root
    assert (figure.value, figure.restarts) == (0.0, (0.0, 0.1))


def test_clusters_widen_intervals() -> None:
    values = np.repeat(np.random.default_rng(0).normal(size=40), 5).tolist()
    wide = estimate(MEAN, [values], Units(np.repeat(np.arange(40), 5), are_clusters=True)).interval
    narrow = estimate(MEAN, [values], single(200)).interval
    assert wide is not None and narrow is not None
    assert wide.high - wide.low > 1.8 * (narrow.high - narrow.low)


def test_a_change_is_the_difference_of_the_figures() -> None:
    before, units, binning = [made(seed=1), made(seed=2)], single(200), Binning(8)
    after = [at_temperature(answers, 2.0) for answers in before]
    change = changes(before, after, units, binning)
    first, second = estimates(before, units, binning), estimates(after, units, binning)
    for name, figure in change.items():
        assert figure.value is not None
        assert figure.value == pytest.approx((second[name].value or 0) - (first[name].value or 0), abs=1e-12)
    assert change["log_loss"].interval is not None and change["log_loss"].interval.high < 0
    assert change["accuracy"].value == 0


def test_pairs_find_the_overconfident_system() -> None:
    sharp, calm = made(400, 2, 3.0), made(400, 2, 1.0)
    comparisons = compared([sharp], [calm], single(400), Binning(10))
    assert set(comparisons) == {"squared_error", "brier", "log_loss"}
    for comparison in comparisons.values():
        assert comparison.low > 0 and comparison.p < 0.01


@pytest.mark.parametrize("count", [0, 1001])
def test_a_senseless_number_of_bins_is_refused(count: int) -> None:
    with pytest.raises(RequestError, match="from 1 to 1,000"):
        Binning(count)
