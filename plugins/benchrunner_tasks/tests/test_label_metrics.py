"""Metrics of labels: hand-worked values, and scikit-learn's own figures of the labels themselves."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
import sklearn.metrics
from sklearn.preprocessing import MultiLabelBinarizer

from benchrunner.errors import PluginError
from benchrunner.metrics import Metric, Score
from benchrunner.metrics.metric import ACCURACY, EXACT_MATCH
from benchrunner_tasks import BALANCED_ACCURACY, MATTHEWS, f1, f1_macro, f1_micro, f1_samples, f1_weighted

F1 = f1("yes")
LABELS = ("a", "b", "c", "d")
AVERAGES = {"macro": f1_macro, "micro": f1_micro, "weighted": f1_weighted}


def value(metric: Metric, gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    figure = metric.score(gold, predicted).value
    assert figure is not None
    return figure


def test_accuracy_is_the_share_of_equal_answers() -> None:
    assert value(ACCURACY, ["a", "b", "c", "d"], ["a", "b", "c", "a"]) == 0.75


def test_f1_counts_the_positive_label_only() -> None:
    gold, predicted = ["yes", "yes", "no", "no", "no"], ["yes", "no", "yes", "no", "no"]
    assert value(F1, gold, predicted) == 0.5  # one hit, one missed, one too many
    assert value(F1, ["no", "no"], ["no", "no"]) == 0.0


def test_matthews_by_hand() -> None:
    # Hits 3 and 2, misses 1 and 1: (3*2 - 1*1) / sqrt(4 * 4 * 3 * 3)
    assert value(MATTHEWS, [1, 1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 1, 0, 0]) == pytest.approx(5 / 12)


@pytest.mark.parametrize(("gold", "predicted"), [("aab", "aaa"), ("aaa", "aab"), ("aaa", "aaa"), ("aaa", "bbb")])
def test_matthews_of_a_constant_side_is_zero(gold: str, predicted: str) -> None:
    assert value(MATTHEWS, list(gold), list(predicted)) == 0.0


@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_matthews_and_f1_agree_with_scikit_learn(labels: str) -> None:
    draw = random.Random(labels)
    for rows in (2, 5, 40, 300):
        gold, predicted = drawn_labels(draw, labels, rows)
        if len(set(gold)) > 1 and len(set(predicted)) > 1:
            assert value(MATTHEWS, gold, predicted) == pytest.approx(sklearn.metrics.matthews_corrcoef(gold, predicted))
        expected = sklearn.metrics.f1_score(
            [label == "a" for label in gold], [label == "a" for label in predicted], zero_division=0.0
        )
        assert value(f1("a"), gold, predicted) == pytest.approx(expected)


def test_averages_of_f1_by_hand() -> None:
    gold, predicted = list("aaaabbc"), list("aaabbaa")
    # a: 3 hits of 4 and 5 -> 6/9; b: 1 hit of 2 and 2 -> 2/4; c: none of 1 and 0 -> 0; d stands nowhere
    assert value(f1_macro(LABELS), gold, predicted) == pytest.approx((6 / 9 + 2 / 4) / 3)
    assert value(f1_weighted(LABELS), gold, predicted) == pytest.approx((4 * 6 / 9 + 2 * 2 / 4) / 7)
    assert value(f1_micro(LABELS), gold, predicted) == pytest.approx(4 / 7)
    assert value(f1_micro(("b", "c")), gold, predicted) == pytest.approx(2 / 5)  # 1 hit of 3 and 2


def test_averages_of_f1_agree_with_scikit_learn() -> None:
    draw = random.Random(1)
    for rows in (1, 2, 5, 40, 300):
        gold, predicted = drawn_labels(draw, LABELS, rows)
        for average, metric in AVERAGES.items():
            expected = sklearn.metrics.f1_score(gold, predicted, average=average, zero_division=0.0)
            assert value(metric(LABELS), gold, predicted) == pytest.approx(expected)
        subset = sklearn.metrics.f1_score(gold, predicted, average="micro", labels=["b", "c"], zero_division=0.0)
        if {"b", "c"} & {*gold, *predicted}:
            assert value(f1_micro(("b", "c")), gold, predicted) == pytest.approx(subset)


def test_f1_of_labels_that_never_occur_is_absent() -> None:
    for metric in AVERAGES.values():
        assert metric(("b", "c")).score(["a"], ["a"]).value is None
    assert f1_weighted(("b", "c")).score(["a"], ["b"]) == Score(None, "no weighted F1: none of the labels is present")
    assert value(f1_macro(("b", "c")), ["a"], ["b"]) == 0.0, "a wrong prediction of b is a value"


def test_balanced_accuracy_by_hand() -> None:
    # Recall 3/4 of a and 1/2 of b; c is no gold label
    assert value(BALANCED_ACCURACY, list("aaaabb"), list("aaacbc")) == pytest.approx((3 / 4 + 1 / 2) / 2)
    assert value(BALANCED_ACCURACY, ["a", "a"], ["a", "b"]) == 0.5


def test_balanced_accuracy_is_the_mean_recall() -> None:
    draw = random.Random(2)
    for rows in (5, 40, 300):
        gold, predicted = drawn_labels(draw, LABELS, rows)
        present = sorted(set(gold))
        expected = sklearn.metrics.recall_score(gold, predicted, labels=present, average="macro")
        assert value(BALANCED_ACCURACY, gold, predicted) == pytest.approx(expected)


def test_multi_label_figures_by_hand() -> None:
    gold = [["a", "b"], ["c"], [], ["a"]]
    predicted = [["b", "a"], ["b", "c"], [], ["b"]]
    assert value(EXACT_MATCH, gold, predicted) == 2 / 4
    assert value(f1_samples(LABELS), gold, predicted) == pytest.approx((1 + 2 / 3 + 1 + 0) / 4)
    # a: 1 hit of 2 and 1; b: 1 hit of 1 and 3; c: 1 hit of 1 and 1; d stands nowhere
    assert value(f1_macro(LABELS), gold, predicted) == pytest.approx((2 / 3 + 2 / 4 + 1) / 3)
    assert value(f1_micro(LABELS), gold, predicted) == pytest.approx(6 / 9)


def test_multi_label_figures_agree_with_scikit_learn() -> None:
    draw = random.Random(3)
    matrix = MultiLabelBinarizer(classes=LABELS).fit([LABELS])
    for rows in (20, 300):
        drawn = [drawn_list(draw) for _ in range(2 * rows)]
        gold, predicted = drawn[:rows], drawn[rows:]
        gold_matrix, predicted_matrix = matrix.transform(gold), matrix.transform(predicted)
        for average, metric in {**AVERAGES, "samples": f1_samples}.items():
            expected = sklearn.metrics.f1_score(
                gold_matrix, predicted_matrix, average=average, zero_division=1.0 if average == "samples" else 0.0
            )
            assert value(metric(LABELS), gold, predicted) == pytest.approx(expected)
        expected = sklearn.metrics.accuracy_score(gold_matrix, predicted_matrix)
        assert value(EXACT_MATCH, gold, predicted) == pytest.approx(expected)


@pytest.mark.parametrize("labels", [("a",), ("a", "a"), "ab", ()])
def test_averages_need_different_labels(labels: Any) -> None:
    with pytest.raises(PluginError, match="f1_macro needs two or more different labels"):
        f1_macro(labels)


def drawn_labels(draw: random.Random, labels: Sequence[str], rows: int) -> tuple[list[str], list[str]]:
    """Draw gold labels and predictions, of which six in ten are right."""
    gold = draw.choices(labels, k=rows)
    return gold, [label if draw.random() < 0.6 else draw.choice(labels) for label in gold]


def drawn_list(draw: random.Random) -> list[str]:
    return [label for label in LABELS if draw.random() < 0.4]
