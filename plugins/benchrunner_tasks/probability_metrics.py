"""Metrics of the probabilities of labels: how well they rank the rows.

The functions take the labels in the order in which the problem gives their probabilities: `Classify.labels`, or
`range(n)` for `Choose(n)`. Gold answers are labels or lists of labels. The problem's extra figures must have
"probabilities"; a prediction file holds answers only, so these scores are absent for files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchrunner import Metric, PluginError, Undefined
from benchrunner.engine import metrics
from benchrunner_tasks.label_metrics import checked_labels, label_matrix

if TYPE_CHECKING:
    import numpy as np


def roc_auc(labels: Sequence[Any], positive: Any = None) -> Metric:
    """Give the area under the ROC curve of the label `positive` against all others.

    Without `positive` the figure is the mean over all labels; of two labels, both have the same area.
    """

    def area(label: Any, right: np.ndarray, ranked: np.ndarray) -> float:
        from sklearn.metrics import roc_auc_score

        if right.all() or not right.any():
            share = "every" if right.any() else "no"
            raise Undefined(f"no ROC-AUC: {share} row has the gold label {label!r}")
        return float(roc_auc_score(right, ranked))

    return _mean_of_labels("roc_auc", area, labels, positive)


def average_precision(labels: Sequence[Any], positive: Any = None) -> Metric:
    """Give the average precision of the label `positive`, or the mean over all labels."""

    def precision(label: Any, right: np.ndarray, ranked: np.ndarray) -> float:
        from sklearn.metrics import average_precision_score

        if not right.any():
            raise Undefined(f"no average precision: no row has the gold label {label!r}")
        return float(average_precision_score(right, ranked))

    return _mean_of_labels("average_precision", precision, labels, positive)


def _mean_of_labels(
    name: str,
    figure: Callable[[Any, np.ndarray, np.ndarray], float],
    labels: Sequence[Any],
    positive: Any,
) -> Metric:
    """Make the metric that is the mean of a figure over all labels, or the figure of the label `positive` alone.

    `figure` takes a label, an array that says of each row whether its gold label is this one, and an array with the
    label's probability in each row.
    """
    labels = checked_labels(name, labels)
    if positive is not None and positive not in labels:
        raise PluginError(f"The metric {name} needs a positive label that is one of {labels}, not {positive!r}.")
    averaged = list(range(len(labels)))
    if positive is not None:
        averaged = [labels.index(positive)]

    def compute(gold: metrics.Column, probabilities: metrics.Column) -> float:
        import numpy as np

        right = label_matrix(gold, labels)
        ranked = np.asarray(probabilities, dtype=np.float64)
        if ranked.shape != right.shape:
            raise ValueError(f"expected a probability for each of {len(labels)} labels, found the shape {ranked.shape}")
        if not np.isfinite(ranked).all():
            raise Undefined("not all probabilities are finite")
        figures = []
        for column in averaged:
            value = figure(labels[column], right[:, column], ranked[:, column])
            figures.append(value)
        return sum(figures) / len(figures)

    return Metric(name, compute, computed_from="probabilities")
