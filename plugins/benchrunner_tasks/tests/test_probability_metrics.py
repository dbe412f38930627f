"""Metrics of probabilities: hand-worked values, and scikit-learn's own figures."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sklearn.metrics

from benchrunner import Classify
from benchrunner.errors import PluginError
from benchrunner.metrics import Metric, Score
from benchrunner_kinds import Choose, MultiLabel
from benchrunner_tasks import average_precision, brier, label_probabilities, log_loss, roc_auc

LABELS = ("a", "b", "c")
TWO = ("no", "yes")


def value(metric: Metric, gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    figure = metric.score(gold, predicted).value
    assert figure is not None
    return figure


def of_yes(*probabilities: float) -> list[list[float]]:
    """Give the probabilities of both labels from those of 'yes'."""
    return [[1 - share, share] for share in probabilities]


def drawn(rows: int, *, seed: int) -> tuple[list[str], list[list[float]]]:
    """Draw gold labels and probabilities that lean towards them."""
    draw = np.random.default_rng(seed)
    gold = draw.integers(0, len(LABELS), rows)
    logits = draw.normal(size=(rows, len(LABELS))) + np.eye(len(LABELS))[gold]
    powers = np.exp(logits)
    return [LABELS[number] for number in gold], (powers / powers.sum(1, keepdims=True)).tolist()


def test_roc_auc_by_hand() -> None:
    # Of the four pairs of a yes and a no, three are in the right order
    gold, probabilities = ["yes", "yes", "no", "no"], of_yes(0.9, 0.4, 0.6, 0.1)
    assert value(roc_auc(TWO, "yes"), gold, probabilities) == 0.75
    assert value(roc_auc(TWO), gold, probabilities) == 0.75
    assert value(roc_auc(TWO), gold, of_yes(0.5, 0.5, 0.5, 0.5)) == 0.5


def test_average_precision_by_hand() -> None:
    # In the order yes, no, yes, no: precision 1/1 and 2/3 at the right ones
    gold, probabilities = ["yes", "yes", "no", "no"], of_yes(0.9, 0.4, 0.6, 0.1)
    assert value(average_precision(TWO, "yes"), gold, probabilities) == pytest.approx((1 + 2 / 3) / 2)


def test_areas_agree_with_scikit_learn() -> None:
    for rows in (30, 300):
        gold, probabilities = drawn(rows, seed=rows)
        expected = sklearn.metrics.roc_auc_score(gold, probabilities, multi_class="ovr", labels=LABELS)
        assert value(roc_auc(LABELS), gold, probabilities) == pytest.approx(expected)
        one_hot = np.array(gold)[:, None] == np.array(LABELS)
        expected = sklearn.metrics.average_precision_score(one_hot, probabilities)
        assert value(average_precision(LABELS), gold, probabilities) == pytest.approx(expected)
        expected = sklearn.metrics.average_precision_score(
            [label == "b" for label in gold], np.array(probabilities)[:, 1]
        )
        assert value(average_precision(LABELS, "b"), gold, probabilities) == pytest.approx(expected)


def test_areas_of_lists_of_labels_agree_with_scikit_learn() -> None:
    draw = np.random.default_rng(5)
    marks, probabilities = draw.random((50, 3)) < 0.4, draw.random((50, 3))
    gold = [np.array(LABELS)[row].tolist() for row in marks]
    expected = sklearn.metrics.roc_auc_score(marks, probabilities)
    assert value(roc_auc(LABELS), gold, probabilities.tolist()) == pytest.approx(expected)
    expected = sklearn.metrics.average_precision_score(marks, probabilities)
    assert value(average_precision(LABELS), gold, probabilities.tolist()) == pytest.approx(expected)


def test_an_area_without_both_classes_is_absent() -> None:
    probabilities = of_yes(0.9, 0.4)
    assert roc_auc(TWO, "yes").score(["yes", "yes"], probabilities) == Score(
        None, "no ROC-AUC: every row has the gold label 'yes'"
    )
    assert roc_auc(TWO, "yes").score(["no", "no"], probabilities) == Score(
        None, "no ROC-AUC: no row has the gold label 'yes'"
    )
    assert average_precision(TWO, "yes").score(["no", "no"], probabilities) == Score(
        None, "no average precision: no row has the gold label 'yes'"
    )


def test_probabilities_that_are_not_finite_have_no_area() -> None:
    expected = Score(None, "not all probabilities are finite")
    assert roc_auc(TWO).score(["yes", "no"], of_yes(0.9, float("nan"))) == expected


def test_probabilities_of_other_labels_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"each of 3 labels, found the shape \(2, 2\)"):
        roc_auc(LABELS).score(["a", "b"], of_yes(0.9, 0.1))


def test_the_positive_label_is_one_of_the_labels() -> None:
    with pytest.raises(PluginError, match="roc_auc needs a positive label that is one of"):
        roc_auc(TWO, "maybe")


def test_probabilities_of_problems_are_in_the_order_of_labels() -> None:
    """The probabilities that each kind of problem gives rank the labels as its outputs do."""
    outputs = np.array([[0.0, 2.0, 1.0], [0.0, 1.0, 2.0]])
    table = pa.table({})
    for problem in (Classify(LABELS), Choose(3), MultiLabel(LABELS)):
        probabilities = problem.extra_figures(outputs, table, problem.decoding)["probabilities"]
        assert np.argsort(probabilities).tolist() == [[0, 2, 1], [0, 1, 2]]


@pytest.mark.parametrize("labels", [TWO, LABELS])
def test_losses_agree_with_scikit_learn(labels: tuple[str, ...]) -> None:
    draw = np.random.default_rng(len(labels))
    gold = draw.choice(labels, 200).tolist()
    probabilities = draw.dirichlet([1.0] * len(labels), 200)
    assert value(log_loss(labels), gold, probabilities.tolist()) == pytest.approx(
        sklearn.metrics.log_loss(gold, probabilities, labels=labels)
    )
    of_all = sklearn.metrics.brier_score_loss(gold, probabilities, labels=labels, scale_by_half=False)
    assert value(brier(labels), gold, probabilities.tolist()) == pytest.approx(of_all)


def test_losses_by_hand() -> None:
    gold, probabilities = ["yes", "no"], of_yes(0.5, 0.2)
    assert value(brier(TWO), gold, probabilities) == pytest.approx((0.5 + 0.08) / 2)
    assert value(log_loss(TWO), gold, probabilities) == pytest.approx((np.log(2) - np.log(0.8)) / 2)
    assert brier(TWO).gain(0.5) < brier(TWO).gain(0.4), "lower is better"


def test_rows_may_offer_different_numbers_of_labels() -> None:
    right, matrix = label_probabilities([2, 0], [[0.5, 0.25, 0.25], [1.0, 0.0]])
    assert right.tolist() == [2, 0]
    assert matrix.tolist() == [[0.5, 0.25, 0.25], [1.0, pytest.approx(1e-38, rel=1), 0.0]]


def test_questions_without_one_right_label_have_a_reason() -> None:
    several = Score(None, "a gold answer is no label, or several")
    assert brier(TWO).score([["yes"], []], of_yes(0.9, 0.1)) == several
    assert log_loss(()).score([0.5], [[1.0]]) == several
    absent = Score(None, "the right label of a row is not among those that have probabilities")
    assert log_loss(()).score([5], [[0.5, 0.5]]) == log_loss(()).score([-1], [[0.5, 0.5]]) == absent
    assert brier(("a", "b", "c")).score(["c"], [[0.5, 0.5]]) == absent
    with pytest.raises(PluginError, match="two or more different labels"):
        brier(("yes",))
    expected = Score(None, "the probabilities of the labels of a row do not add up to 1")
    assert brier(TWO).score(["yes"], [[0.9, 0.8]]) == brier(TWO).score(["no"], [[float("nan"), 1.0]]) == expected
