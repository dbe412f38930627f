"""Metrics of labels: one label for each row, or a list of labels for each row.

The F1 metrics that take `labels` average over these labels and ignore all others. A label that stands in no gold answer
and in no prediction has no F1 and is left out of the mean, as in scikit-learn's default for single labels.

All but the means over rows follow from three counts of each label: its hits, its gold answers and its predictions. The
figures get these counts as arrays (labels, resamples), and return an array (resamples,).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from benchrunner.metrics.label_matrix import checked_labels, label_matrix, labels_of
from benchrunner.metrics.metric import Metric
from benchrunner.metrics.weighting import RowSums, mean_of_rows

if TYPE_CHECKING:
    import numpy as np

Figure = Callable[["np.ndarray", "np.ndarray", "np.ndarray"], Any]
"""Computes a metric from the hits, the gold answers and the predictions of each label, each (labels, resamples)."""


def _is_equal(gold: Any, predicted: Any) -> float:
    return float(bool(gold == predicted))


def _same_labels(gold: Any, predicted: Any) -> float:
    return float(set(labels_of(gold)) == set(labels_of(predicted)))


def _is_among(gold: Any, predicted: Any) -> float:
    return float(predicted in labels_of(gold))


def _of_counts(name: str, figure: Figure, labels: Sequence[Any] = (), absent: str = "") -> Metric:
    """Give the metric that `figure` computes from the counts of these labels; of all labels that occur by default."""

    def row_values(gold: Sequence[Any], predicted: Sequence[Any]) -> np.ndarray:
        import numpy as np

        columns = labels or list(dict.fromkeys([*gold, *predicted]))
        right, answers = label_matrix(gold, columns), label_matrix(predicted, columns)
        return np.hstack([right & answers, right, answers])

    def figure_of_sums(sums: np.ndarray) -> Any:
        return figure(*sums.reshape(3, -1, sums.shape[-1]))

    return Metric.of_sums(name, RowSums(row_values, figure_of_sums), absent)


def _matthews(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
    rows = gold.sum(axis=0)
    shared = hits.sum(axis=0) * rows - (gold * predicted).sum(axis=0)
    gold_spread = rows**2 - (gold**2).sum(axis=0)
    predicted_spread = rows**2 - (predicted**2).sum(axis=0)
    return shared / (gold_spread * predicted_spread).clip(min=1) ** 0.5  # `shared` is 0 where a spread is


def _mean_recall(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
    return (hits / gold.clip(min=1)).sum(axis=0) / (gold > 0).sum(axis=0)


def _f1s(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
    """Compute the F1 of each label; 0 for a label that is neither present nor predicted."""
    return 2 * hits / (gold + predicted).clip(min=1)


ACCURACY = Metric.of_rows("accuracy", _is_equal)
"""Share of rows whose answer equals the gold answer."""
MATTHEWS = _of_counts("matthews", _matthews)
"""Matthews' correlation coefficient of labels; 0 where all gold answers or all predictions are the same."""
BALANCED_ACCURACY = _of_counts("balanced_accuracy", _mean_recall)
"""Mean recall over the labels of the gold answers."""
EXACT_MATCH = Metric.of_rows("exact_match", _same_labels)
"""Share of rows with exactly the right labels, in any order; answers are lists of labels."""
RIGHT_CHOICE = Metric.of_rows("accuracy", _is_among)
"""Share of rows whose answer is the gold answer, or one of them if gold is a list, as in `Candidates`."""


def f1(positive: str) -> Metric:
    """Give the F1 of one label against all others; 0 where the label is neither present nor predicted."""
    return _of_counts("f1", lambda *counts: _f1s(*counts)[0], (positive,))


def f1_macro(labels: Sequence[Any]) -> Metric:
    """Give the mean of the labels' F1, each label with the same weight. Answers are labels or lists of labels."""

    def figure(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
        return _f1s(hits, gold, predicted).sum(axis=0) / (gold + predicted > 0).sum(axis=0)

    return _average_f1("f1_macro", figure, labels)


def f1_micro(labels: Sequence[Any]) -> Metric:
    """Give F1 from the counts of all labels together. Answers are labels or lists of labels.

    Over all labels of a single-label task this is the accuracy, so leave out, for example, the label 'no relation'.
    """

    def figure(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
        return 2 * hits.sum(axis=0) / (gold + predicted).sum(axis=0)

    return _average_f1("f1_micro", figure, labels)


def f1_weighted(labels: Sequence[Any]) -> Metric:
    """Give the mean of the labels' F1, weighted by their counts in the gold answers. Answers are labels or lists."""

    def figure(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
        return (_f1s(hits, gold, predicted) * gold).sum(axis=0) / gold.sum(axis=0)

    return _average_f1("f1_weighted", figure, labels, "no weighted F1: none of the labels is present")


def _average_f1(
    name: str, figure: Figure, labels: Sequence[Any], absent: str = "no F1: none of the labels is present or predicted"
) -> Metric:
    return _of_counts(name, figure, checked_labels(name, labels), absent)


def f1_samples(labels: Sequence[Any]) -> Metric:
    """Give the mean of the rows' F1; answers are lists of labels.

    An empty list for a row without gold labels counts as 1; scikit-learn's default counts it as 0.
    """
    labels = checked_labels("f1_samples", labels)
    return Metric.of_sums("f1_samples", mean_of_rows(partial(_f1_of_row, frozenset(labels))))


def _f1_of_row(labels: frozenset[Any], gold: Any, predicted: Any) -> float:
    right = labels.intersection(labels_of(gold))
    answer = labels.intersection(labels_of(predicted))
    return 2 * len(right & answer) / (len(right) + len(answer)) if right or answer else 1.0
