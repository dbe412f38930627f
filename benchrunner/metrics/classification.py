"""Metrics of labels: one label for each row, or a list of labels for each row.

The F1 metrics that take `labels` average over these labels and ignore all others. A label that stands in no gold answer
and in no prediction has no F1 and is left out of the mean, as in scikit-learn's default for single labels.

All but the means over rows follow from three counts of each label: its hits, its gold answers and its predictions. The
figures get these counts as arrays (labels, resamples), and return an array (resamples,).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchrunner.errors import PluginError
from benchrunner.metrics.metric import Column, Metric, RowSums, mean_of_rows

if TYPE_CHECKING:
    import numpy as np

Figure = Callable[["np.ndarray", "np.ndarray", "np.ndarray"], Any]
"""Computes a metric from the hits, the gold answers and the predictions of each label, each (labels, resamples)."""


def checked_labels(metric: str, labels: Sequence[Any]) -> tuple[Any, ...]:
    """Give the labels as a tuple; `PluginError` where they are not two or more different labels."""
    if isinstance(labels, str) or len(set(labels)) != len(labels) or len(labels) < 2:
        raise PluginError(f"The metric {metric} needs two or more different labels, not {labels!r}.")
    return tuple(labels)


def labels_of(answer: Any) -> Sequence[Any]:
    """Give the labels of an answer: the list itself, or the single label as a list."""
    return answer if isinstance(answer, list | tuple) else [answer]


def label_matrix(answers: Column, labels: Sequence[Any]) -> np.ndarray:
    """Mark the labels of each answer: bool (rows, labels). Labels that are not listed are ignored."""
    import numpy as np

    column = {label: number for number, label in enumerate(labels)}
    matrix = np.zeros((len(answers), len(labels)), dtype=bool)
    for row, answer in enumerate(answers):
        for label in labels_of(answer):
            if label in column:
                matrix[row, column[label]] = True
    return matrix


def _is_equal(gold: Any, predicted: Any) -> float:
    return float(gold == predicted)


def _same_labels(gold: Any, predicted: Any) -> float:
    right = set(labels_of(gold))
    return float(right == set(labels_of(predicted)))


def _is_among(gold: Any, predicted: Any) -> float:
    return float(predicted in labels_of(gold))


def _of_counts(
    name: str,
    figure: Figure,
    labels: Sequence[Any] = (),
    absent: str = "",
    lowest: float = 0.0,
) -> Metric:
    """Give the metric that `figure` computes from the counts of these labels; of all labels that occur by default."""

    def row_values(gold: Column, predicted: Column) -> np.ndarray:
        import numpy as np

        columns = labels or list(dict.fromkeys([*gold, *predicted]))
        right = label_matrix(gold, columns)
        answers = label_matrix(predicted, columns)
        return np.hstack([right & answers, right, answers])

    def figure_of_sums(sums: np.ndarray) -> Any:
        hits, gold, predicted = sums.reshape(3, -1, sums.shape[-1])
        return figure(hits, gold, predicted)

    return Metric.of_sums(name, RowSums(row_values, figure_of_sums), absent, lowest=lowest)


def _matthews(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
    rows = gold.sum(axis=0)
    by_chance = (gold * predicted).sum(axis=0)
    shared = hits.sum(axis=0) * rows - by_chance
    gold_spread = rows**2 - (gold**2).sum(axis=0)
    predicted_spread = rows**2 - (predicted**2).sum(axis=0)
    spread = (gold_spread * predicted_spread).clip(min=1)  # `shared` is 0 where a spread is
    return shared / spread**0.5


def _mean_recall(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
    recall = hits / gold.clip(min=1)
    present = gold > 0
    return recall.sum(axis=0) / present.sum(axis=0)


def _f1s(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
    """Compute the F1 of each label, (labels, resamples); 0 for a label that is neither present nor predicted."""
    mentions = (gold + predicted).clip(min=1)
    return 2 * hits / mentions


def _first_f1(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
    return _f1s(hits, gold, predicted)[0]


def _macro_f1(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
    occurs = gold + predicted > 0
    return _f1s(hits, gold, predicted).sum(axis=0) / occurs.sum(axis=0)


def _micro_f1(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
    mentions = gold + predicted
    return 2 * hits.sum(axis=0) / mentions.sum(axis=0)


def _weighted_f1(hits: np.ndarray, gold: np.ndarray, predicted: np.ndarray) -> Any:
    weighted = _f1s(hits, gold, predicted) * gold
    return weighted.sum(axis=0) / gold.sum(axis=0)


ACCURACY = Metric.of_rows("accuracy", _is_equal)
"""Share of rows whose answer equals the gold answer."""
MATTHEWS = _of_counts("matthews", _matthews, lowest=-1.0)
"""Matthews' correlation coefficient of labels; 0 where all gold answers or all predictions are the same."""
BALANCED_ACCURACY = _of_counts("balanced_accuracy", _mean_recall)
"""Mean recall over the labels of the gold answers."""
EXACT_MATCH = Metric.of_rows("exact_match", _same_labels)
"""Share of rows with exactly the right labels, in any order; answers are lists of labels."""
RIGHT_CHOICE = Metric.of_rows("accuracy", _is_among)
"""Share of rows whose answer is the gold answer, or one of them if gold is a list, as in `Candidates`."""


def f1(positive: Any) -> Metric:
    """Give the F1 of one label against all others; 0 where the label is neither present nor predicted."""
    return _of_counts("f1", _first_f1, (positive,))


def f1_macro(labels: Sequence[Any]) -> Metric:
    """Give the mean of the labels' F1, each label with the same weight. Answers are labels or lists of labels."""
    return _average_f1("f1_macro", _macro_f1, labels)


def f1_micro(labels: Sequence[Any]) -> Metric:
    """Give F1 from the counts of all labels together. Answers are labels or lists of labels.

    Over all labels of a single-label task this is the accuracy, so leave out, for example, the label 'no relation'.
    """
    return _average_f1("f1_micro", _micro_f1, labels)


def f1_weighted(labels: Sequence[Any]) -> Metric:
    """Give the mean of the labels' F1, weighted by their counts in the gold answers. Answers are labels or lists."""
    return _average_f1("f1_weighted", _weighted_f1, labels, "no weighted F1: none of the labels is present")


def _average_f1(
    name: str,
    figure: Figure,
    labels: Sequence[Any],
    absent: str = "no F1: none of the labels is present or predicted",
) -> Metric:
    return _of_counts(name, figure, checked_labels(name, labels), absent)


def f1_samples(labels: Sequence[Any]) -> Metric:
    """Give the mean of the rows' F1; answers are lists of labels.

    An empty list for a row without gold labels counts as 1; scikit-learn's default counts it as 0.
    """
    counted = frozenset(checked_labels("f1_samples", labels))

    def f1_of_row(gold: Any, predicted: Any) -> float:
        right = counted.intersection(labels_of(gold))
        answer = counted.intersection(labels_of(predicted))
        if not right and not answer:
            return 1.0
        return 2 * len(right & answer) / (len(right) + len(answer))

    return Metric.of_sums("f1_samples", mean_of_rows(f1_of_row))
