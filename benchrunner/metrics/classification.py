"""Metrics of labels: one label for each row, or a list of labels for each row.

The F1 metrics that take `labels` average over these labels and ignore all others. A label that stands in no gold answer
and in no prediction has no F1 and is left out of the mean, as in scikit-learn's default for single labels.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from benchrunner.errors import Undefined
from benchrunner.metrics.label_matrix import checked_labels, label_matrix, labels_of
from benchrunner.metrics.label_sums import (
    average_f1_of_sums,
    label_row_values,
    matthews_of_sums,
    matthews_row_values,
    recall_of_sums,
    recall_row_values,
)
from benchrunner.metrics.metric import Metric
from benchrunner.metrics.weighting import RowSums, mean_of_rows


def _accuracy(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    return sum(map(_is_equal, gold, predicted)) / len(gold)


def _is_equal(gold: Any, predicted: Any) -> float:
    return float(bool(gold == predicted))


def _matthews(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    """Compute Matthews' correlation; 0 where either side is constant, as scikit-learn computes it."""
    rows, right = len(gold), sum(bool(label == answer) for label, answer in zip(gold, predicted, strict=True))
    gold_counts, predicted_counts = Counter(gold), Counter(predicted)
    shared = right * rows - sum(gold_counts[label] * predicted_counts[label] for label in gold_counts)
    spread = (rows**2 - sum(n**2 for n in gold_counts.values())) * (
        rows**2 - sum(n**2 for n in predicted_counts.values())
    )
    return shared / math.sqrt(spread) if spread else 0.0


def _balanced_accuracy(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    """Compute the mean recall over the labels that stand in the gold answers."""
    from sklearn.metrics import balanced_accuracy_score

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predictions of a label that no gold answer has are ordinary wrong answers
        return float(balanced_accuracy_score(gold, predicted))


def _exact_match(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    return sum(map(_same_labels, gold, predicted)) / len(gold)


def _same_labels(gold: Any, predicted: Any) -> float:
    return float(set(labels_of(gold)) == set(labels_of(predicted)))


def _is_among(gold: Any, predicted: Any) -> float:
    return float(predicted in labels_of(gold))


def _right_choice(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
    return sum(map(_is_among, gold, predicted)) / len(gold)


ACCURACY = Metric("accuracy", _accuracy, per_row=_is_equal)
"""Share of rows whose answer equals the gold answer."""
MATTHEWS = Metric("matthews", _matthews, row_sums=RowSums(matthews_row_values, matthews_of_sums))
"""Matthews' correlation coefficient of labels."""
BALANCED_ACCURACY = Metric("balanced_accuracy", _balanced_accuracy, row_sums=RowSums(recall_row_values, recall_of_sums))
"""Mean recall over the labels of the gold answers."""
EXACT_MATCH = Metric("exact_match", _exact_match, per_row=_same_labels)
"""Share of rows with exactly the right labels, in any order; answers are lists of labels."""

RIGHT_CHOICE = Metric("accuracy", _right_choice, per_row=_is_among)
"""Share of rows whose answer is the gold answer, or one of them if gold is a list, as in `Candidates`."""


def f1(positive: str) -> Metric:
    """Give the F1 of one label against all others; 0 where the label is neither present nor predicted."""

    def compute(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
        pairs = list(zip(gold, predicted, strict=True))
        hits = pairs.count((positive, positive))
        mentions = sum((right == positive) + (answer == positive) for right, answer in pairs)
        return 2 * hits / mentions if mentions else 0.0

    def row_values(gold: Sequence[Any], predicted: Sequence[Any]) -> Any:
        return label_row_values(gold, predicted, (positive,))

    return Metric("f1", compute, row_sums=RowSums(row_values, partial(average_f1_of_sums, "f1")))


def f1_macro(labels: Sequence[Any]) -> Metric:
    """Give the mean of the labels' F1, each label with the same weight. Answers are labels or lists of labels."""
    return _average_f1("macro", labels)


def f1_micro(labels: Sequence[Any]) -> Metric:
    """Give F1 from the counts of all labels together. Answers are labels or lists of labels.

    Over all labels of a single-label task this is the accuracy, so leave out, for example, the label 'no relation'.
    """
    return _average_f1("micro", labels)


def f1_weighted(labels: Sequence[Any]) -> Metric:
    """Give the mean of the labels' F1, weighted by their counts in the gold answers. Answers are labels or lists."""
    return _average_f1("weighted", labels)


def f1_samples(labels: Sequence[Any]) -> Metric:
    """Give the mean of the rows' F1; answers are lists of labels.

    An empty list for a row without gold labels counts as 1; scikit-learn's default counts it as 0.
    """
    return _average_f1("samples", labels)


def _average_f1(average: Literal["macro", "micro", "weighted", "samples"], labels: Sequence[Any]) -> Metric:
    name = f"f1_{average}"
    labels = checked_labels(name, labels)
    without_labels = 1.0 if average == "samples" else math.nan  # nan is left out of the mean

    def compute(gold: Sequence[Any], predicted: Sequence[Any]) -> float:
        from sklearn.metrics import f1_score

        gold_labels, predicted_labels = label_matrix(gold, labels), label_matrix(predicted, labels)
        if average != "samples" and not (gold_labels.any() or predicted_labels.any()):
            raise Undefined("no F1: none of the labels is present or predicted")
        if average == "weighted" and not gold_labels.any():
            raise Undefined("no weighted F1: none of the labels is present")
        return float(f1_score(gold_labels, predicted_labels, average=average, zero_division=without_labels))

    def row_values(gold: Sequence[Any], predicted: Sequence[Any]) -> Any:
        return label_row_values(gold, predicted, labels)

    if average == "samples":
        return Metric(name, compute, row_sums=mean_of_rows(lambda gold, predicted: _f1_of_row(gold, predicted, labels)))
    return Metric(name, compute, row_sums=RowSums(row_values, partial(average_f1_of_sums, average)))


def _f1_of_row(gold: Any, predicted: Any, labels: Sequence[Any]) -> float:
    right, answer = ({label for label in labels_of(side) if label in labels} for side in (gold, predicted))
    return 2 * len(right & answer) / (len(right) + len(answer)) if right or answer else 1.0
