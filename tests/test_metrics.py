"""Hand-worked values, and the libraries that the official scorers call."""

from __future__ import annotations

import random

import pytest

from benchrunner.metrics import ACCURACY, MATTHEWS, PEARSON, SPEARMAN, Metric, Score, f1, score

F1 = f1("yes")


def value(metric: Metric, gold: list[object], predicted: list[object]) -> float:
    found = score(metric, gold, predicted).value
    assert found is not None
    return found


def test_accuracy_is_the_share_of_equal_answers() -> None:
    assert value(ACCURACY, ["a", "b", "c", "d"], ["a", "b", "c", "a"]) == 0.75


def test_f1_counts_the_positive_label_only() -> None:
    gold, predicted = ["yes", "yes", "no", "no", "no"], ["yes", "no", "yes", "no", "no"]
    assert value(F1, [*gold], [*predicted]) == 0.5  # one hit, one missed, one too many
    assert value(F1, ["no", "no"], ["no", "no"]) == 0.0


def test_matthews_by_hand() -> None:
    # Hits 3 and 2, misses 1 and 1: (3*2 - 1*1) / sqrt(4 * 4 * 3 * 3)
    gold, predicted = [1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0]
    assert value(MATTHEWS, [*gold], [*predicted]) == pytest.approx(5 / 12)


@pytest.mark.parametrize(("gold", "predicted"), [("aab", "aaa"), ("aaa", "aab"), ("aaa", "aaa"), ("aaa", "bbb")])
def test_matthews_of_a_constant_side_is_zero(gold: str, predicted: str) -> None:
    assert value(MATTHEWS, list(gold), list(predicted)) == 0.0


@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_matthews_and_f1_agree_with_scikit_learn(labels: str) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    draw = random.Random(labels)
    for rows in (2, 5, 40, 300):
        gold = draw.choices(labels, k=rows)
        predicted = [one if draw.random() < 0.6 else draw.choice(labels) for one in gold]
        if len(set(gold)) > 1 and len(set(predicted)) > 1:
            assert value(MATTHEWS, [*gold], [*predicted]) == pytest.approx(sklearn.matthews_corrcoef(gold, predicted))
        one, other = [label == "a" for label in gold], [label == "a" for label in predicted]
        expected = sklearn.f1_score(one, other, zero_division=0.0)
        assert value(f1("a"), [*gold], [*predicted]) == pytest.approx(expected)


def test_correlations_by_hand() -> None:
    # Deviations -1 0 1 and -2 1 1: 3 / sqrt(2 * 6). Ranks 1 2 3 and 1 2.5 2.5: 1.5 / sqrt(2 * 1.5)
    assert value(PEARSON, [1, 2, 3], [0, 3, 3]) == pytest.approx(3 / 12**0.5)
    assert value(SPEARMAN, [1, 2, 3], [0, 3, 3]) == pytest.approx(1.5 / 3**0.5)


def test_a_correlation_with_a_constant_is_absent_and_says_why() -> None:
    for metric in (PEARSON, SPEARMAN):
        assert score(metric, [1.0, 2.0], [3.0, 3.0]) == Score(None, "no correlation: all predictions are the same")
        assert score(metric, [2.0, 2.0], [3.0, 4.0]) == Score(None, "no correlation: all gold scores are the same")


def test_a_correlation_with_what_is_not_finite_is_absent() -> None:
    expected = Score(None, "no correlation: not all predictions are finite")
    assert score(SPEARMAN, [1.0, 2.0, 3.0], [1.0, float("nan"), 2.0]) == expected


def test_nearly_constant_predictions_raise_no_warning() -> None:
    assert score(PEARSON, [1.0, 2.0, 3.0], [1.0, 1.0, 1.0 + 1e-15]).value is not None


def test_a_figure_that_is_not_finite_is_absent() -> None:
    odd = Metric("odd", lambda gold, predicted: float("inf"))
    assert score(odd, [1], [1]) == Score(None, "odd came out as inf")


def test_no_rows_have_no_score() -> None:
    assert score(ACCURACY, [], []) == Score(None, "there are no rows to score")


def test_missing_predictions_are_no_score_at_all() -> None:
    with pytest.raises(ValueError, match="1 predictions for 2 gold answers"):
        score(ACCURACY, ["a", "b"], ["a"])


def test_scores_survive_json() -> None:
    for one in (Score(0.5), Score(0.0), Score(None, "why")):
        assert Score.from_json(one.as_json()) == one
