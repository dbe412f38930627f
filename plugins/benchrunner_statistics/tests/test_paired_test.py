"""Tests between backbones: hand-worked values, SciPy's values, and what one restart can tell."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchrunner.errors import RequestError, Undefined
from benchrunner.metrics import Metric
from benchrunner.studies.pairs import Part
from benchrunner_statistics import paired_test
from benchrunner_statistics.scored_answers import ScoredAnswers
from benchrunner_statistics.single_fits import LARGEST_P, SCREENING, swap_test
from benchrunner_statistics.variance_parts import combined_p, half_width
from benchrunner_tasks import MATTHEWS, PEARSON, SPEARMAN, f1, f1_macro


def labels(seed: int, rows: int = 40) -> list[int]:
    return np.random.default_rng(seed).integers(0, 2, rows).tolist()


def restarts(seed: int, gold: list[int], count: int, right: float) -> list[list[int]]:
    generator = np.random.default_rng(seed)
    are_right = generator.random((count, len(gold))) < right
    return np.where(are_right, gold, 1 - np.array(gold)).tolist()


def test_swaps_of_right_answers_by_hand() -> None:
    """Of 5 rows that only one fit answers rightly, fit a has 4: p = 2 * (5 + 1) / 2**5."""
    gold, a, b = [1] * 10, [1] * 9 + [0], [0] * 4 + [1] * 6
    comparison = paired_test("accuracy", gold, [a], [b])
    assert comparison.p == pytest.approx(2 * (5 + 1) / 2**5)
    assert comparison.difference == pytest.approx(0.3)
    assert (comparison.method, comparison.claim) == ("permutation", "fits")


@pytest.mark.parametrize("metric", [f1("1"), MATTHEWS], ids=["f1", "matthews"])
def test_permutations_equal_all_swaps_tried_by_hand(metric: Metric) -> None:
    gold = list("110100110101")
    a, b = list("110110010101"), list("100100111001")
    swapped = [row for row in range(12) if a[row] != b[row]]
    differences = []
    for swaps in itertools.product([False, True], repeat=len(swapped)):
        first, second = list(a), list(b)
        for row, is_swapped in zip(swapped, swaps, strict=True):
            if is_swapped:
                first[row], second[row] = b[row], a[row]
        differences.append(metric.value(gold, first) - metric.value(gold, second))
    shares = [np.mean(np.array(differences) * sign >= differences[0] * sign - 1e-12) for sign in (1, -1)]
    comparison = paired_test(metric, gold, [a], [b])
    assert comparison.method == "permutation"
    assert comparison.p == pytest.approx(min(1.0, 2 * min(shares)))


def test_a_metric_without_row_sums_has_the_same_permutations() -> None:
    gold, [a], [b] = labels(0, 12), restarts(1, labels(0, 12), 1, 0.8), restarts(2, labels(0, 12), 1, 0.5)
    slow, fast = (
        paired_test(metric, gold, [a], [b]) for metric in (Metric("slow", MATTHEWS.compute, lowest=-1), MATTHEWS)
    )
    assert slow.p == pytest.approx(fast.p)
    assert replace(slow, p=fast.p) == fast


def test_a_label_that_one_fit_alone_gives_is_swapped() -> None:
    gold, a, b = [0, 1, 0, 1, 1, 0], [0, 1, 2, 1, 0, 0], [0, 1, 0, 1, 1, 1]
    slow, fast = (paired_test(metric, gold, [a], [b]) for metric in (Metric("slow", MATTHEWS.compute), MATTHEWS))
    assert slow.p == pytest.approx(fast.p)


@pytest.mark.parametrize("metric", [PEARSON, SPEARMAN], ids=["pearson", "spearman"])
def test_a_scale_does_not_matter_to_correlations(metric: Metric) -> None:
    gold, a, b = (np.random.default_rng(seed).normal(size=40).tolist() for seed in range(3))
    shifted = [100 * number + 7 for number in b]
    comparison, other = (paired_test(metric, gold, [a], [answers], resamples=200) for answers in (b, shifted))
    assert (comparison.p, comparison.low) == pytest.approx((other.p, other.low))


def test_numbers_are_ranked_after_the_swap() -> None:
    """Ranks that are swapped themselves report too many differences between few rows with high correlations."""
    gold, a, b = (np.random.default_rng(seed).normal(size=8) for seed in range(3))
    a, b = gold + 0.1 * a, gold + 0.3 * b
    a, b = ((side - side.mean()) / side.std() for side in (a, b))
    differences = []
    for swaps in itertools.product([False, True], repeat=8):
        first, second = np.where(swaps, b, a), np.where(swaps, a, b)
        correlations = [stats.spearmanr(gold, side).statistic for side in (first, second)]
        differences.append(abs(correlations[0] - correlations[1]))
    expected = np.mean(np.array(differences) >= differences[0] - 1e-12)
    assert paired_test(SPEARMAN, gold.tolist(), [a.tolist()], [b.tolist()]).p == pytest.approx(expected)


@pytest.mark.parametrize("counts", [(3, 3), (3, 4)], ids=["equal", "unequal"])
def test_several_restarts_are_a_two_way_analysis_of_variance(counts: tuple[int, int]) -> None:
    """Compute the parts of the variance with loops over the right and wrong answers."""
    gold = labels(0)
    a, b = restarts(1, gold, counts[0], 0.9), restarts(2, gold, counts[1], 0.6)
    right = [(np.array(side) == gold).astype(float).tolist() for side in (a, b)]
    means = [np.mean(side) for side in right]
    interaction = 0.0
    for side, mean in zip(right, means, strict=True):
        total = 0.0
        for restart in side:
            for row, value in enumerate(restart):
                total += (value - np.mean(restart) - np.mean([other[row] for other in side]) + mean) ** 2
        interaction += total / ((len(side) - 1) * 39) / (len(side) * 40)
    of_rows = np.var(np.mean(right[0], axis=0) - np.mean(right[1], axis=0), ddof=1) / 40 - interaction
    of_a, of_b = (np.var(np.mean(side, axis=1), ddof=1) / len(side) for side in right)
    if counts[0] == counts[1]:  # Welch's degrees of freedom, rounded down
        freedom = math.floor((of_a + of_b) ** 2 / (of_a**2 / 2 + of_b**2 / 2))
        squares = stats.t.ppf(0.975, freedom) ** 2 * (of_a + of_b)
    else:  # each backbone with its own degrees of freedom
        squares = stats.t.ppf(0.975, 2) ** 2 * of_a + stats.t.ppf(0.975, 3) ** 2 * of_b
    differing = sum(len({*answers}) > 1 for answers in zip(*a, *b, strict=True))
    half = math.sqrt(squares + stats.t.ppf(0.975, differing - 1) ** 2 * of_rows)
    comparison = paired_test("accuracy", gold, a, b)
    assert (comparison.method, comparison.claim, comparison.restarts) == ("rows and restarts", "backbones", counts)
    assert (comparison.low, comparison.high) == pytest.approx((means[0] - means[1] - half, means[0] - means[1] + half))


def test_without_a_part_of_the_rows_it_is_welchs_test() -> None:
    first, second = np.array([0.81, 0.85, 0.78]), np.array([0.70, 0.74, 0.77, 0.71])
    welch = stats.ttest_ind(first, second, equal_var=False)
    variances = first.var(ddof=1) / 3, second.var(ddof=1) / 4
    part = Part(sum(variances), welch.df)
    assert combined_p(first.mean() - second.mean(), (part,)) == pytest.approx(welch.pvalue)


def test_p_and_interval_agree() -> None:
    parts = Part(0.5, 2.3), Part(1.5, 120.0)
    for alpha in (0.2, 0.05, 0.001):
        assert combined_p(half_width(parts, alpha), parts) == pytest.approx(alpha)


def test_the_order_of_restarts_and_of_backbones_does_not_matter() -> None:
    gold = labels(0)
    a, b = restarts(1, gold, 3, 0.9), restarts(2, gold, 3, 0.7)
    comparison, reverse = paired_test(MATTHEWS, gold, a, b), paired_test(MATTHEWS, gold, b[::-1], [a[2], a[0], a[1]])
    assert (comparison.difference, comparison.p) == pytest.approx((-reverse.difference, reverse.p))
    assert comparison.low == pytest.approx(-reverse.high)


def test_equal_answers_do_not_differ() -> None:
    gold = labels(0)
    answers = restarts(1, gold, 1, 0.8)
    for count in (1, 3):
        comparison = paired_test("accuracy", gold, answers * count, answers * count)
        assert (comparison.difference, comparison.low, comparison.high, comparison.p) == (0.0, 0.0, 0.0, 1.0)


def test_one_restart_of_one_side_compares_fits() -> None:
    gold = labels(0)
    comparison = paired_test("accuracy", gold, restarts(1, gold, 3, 0.9), restarts(2, gold, 1, 0.7))
    assert (comparison.method, comparison.claim) == ("rows", "fits")


def test_four_rows_of_one_winner_prove_nothing() -> None:
    """With equal restarts nothing but four rows differs: McNemar's p would be 0.125."""
    gold = [1] * 300
    a, b = [1] * 300, [0] * 4 + [1] * 296
    assert paired_test("accuracy", gold, [a, a], [b, b]).p > 0.125


def test_a_score_without_a_value_is_an_error() -> None:
    with pytest.raises(Undefined, match="all predictions are the same"):
        paired_test(PEARSON, [1, 2, 3], [[1, 2, 4]], [[1, 1, 1]])


@pytest.mark.parametrize(
    ("metric", "a", "message"),
    [
        ("accuracy", [1, 0], r"a\[0\] is 1\. For a single restart, give \[a\]"),
        ("accuracy", [], "a is empty: give a list of answer lists"),
        ("accuracy", [[1]], r"a\[0\] has 1 answers to 2 rows"),
        ("accurracy", [[1, 0]], "There is no metric 'accurracy'.*Did you mean accuracy"),
    ],
)
def test_wrong_arguments_are_named(metric: str, a: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        paired_test(metric, [1, 0], a, [[1, 0]])


def test_a_large_family_begins_with_few_permutations() -> None:
    """The first 999 decide where they show nothing; where they show something, the larger number follows."""
    draw = np.random.default_rng(0)
    gold, *noise = draw.normal(size=(4, 200))
    answers = ((gold + deviation * own).tolist() for deviation, own in zip((1, 1, 3), noise, strict=True))
    first, same, bad = (ScoredAnswers(PEARSON, gold.tolist(), of_fit) for of_fit in answers)
    few = swap_test(first, same, seed=0, resamples=SCREENING)
    assert few > LARGEST_P and swap_test(first, same, seed=0, at_least=20_000) == few
    assert swap_test(first, bad, seed=0, at_least=20_000) == 1 / 20_001


@pytest.mark.parametrize("kinds", [2, 3])
def test_rows_that_are_counted_together_are_swapped_alone(kinds: int) -> None:
    """The p-value of two labels is exact, that of three is drawn; the reference swaps the answers of every row."""
    draw = np.random.default_rng(kinds)
    gold = draw.integers(0, kinds, 200)
    a, b = (np.where(draw.random(200) < share, gold, draw.integers(0, kinds, 200)) for share in (0.6, 0.4))
    metric = f1_macro(range(kinds))

    def difference(first: np.ndarray, second: np.ndarray) -> float:
        return metric.value(gold.tolist(), first.tolist()) - metric.value(gold.tolist(), second.tolist())

    as_large = 0
    for _ in range(400):
        swapped = draw.random(200) < 0.5
        as_large += abs(difference(np.where(swapped, b, a), np.where(swapped, a, b))) >= abs(difference(a, b)) - 1e-12
    fits = (ScoredAnswers(metric, gold.tolist(), answers.tolist()) for answers in (a, b))
    assert swap_test(*fits, seed=0) == pytest.approx(as_large / 400, abs=0.05)


@pytest.mark.parametrize(("metric", "most"), [("accuracy", 1.0), (MATTHEWS, 2.0)], ids=["accuracy", "matthews"])
def test_intervals_hold_no_impossible_difference(metric: Metric | str, most: float) -> None:
    gold = [1, 0, 1, 0]
    comparison = paired_test(metric, gold, [[1, 0, 1, 0]], [[0, 1, 1, 0]])
    half = half_width(comparison.parts, 0.05)
    assert comparison.difference + half > most == comparison.high
    assert comparison.low == max(comparison.difference - half, -most)
    assert comparison.reversed.low == -most
