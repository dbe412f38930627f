"""Metrics of the probabilities of labels: how well they rank the rows, and how far they can be trusted.

The functions take the labels in the order in which the problem gives their probabilities: `Classify.labels`, or
`range(n)` for `Choose(n)`. Gold answers are labels or lists of labels. The problem's extra figures must have
"probabilities"; a prediction file holds answers only, so these scores are absent for files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from benchrunner import GoldRow, Metric, PluginError, RowSums, Undefined
from benchrunner.engine import metrics
from benchrunner_tasks.label_metrics import checked_labels, label_matrix

if TYPE_CHECKING:
    import numpy as np

ROUNDING = 1e-3
"""Largest distance of the sum of a row's probabilities from 1: 16-bit outputs have three digits."""
SMALLEST = 1.1754944e-38
"""Smallest probability of a label that a row offers: probabilities of fp32 outputs that underflow are not 0."""


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


def brier(labels: Sequence[Any]) -> Metric:
    """Give the Brier score (1950): the sum over all labels of (probability - 1 if right, else 0)², mean over the rows.

    With two labels it is twice scikit-learn's, which counts one label.
    """

    def losses(probabilities: np.ndarray, of_right: np.ndarray) -> np.ndarray:
        import numpy as np

        squares = probabilities**2
        return np.asarray(squares.sum(axis=1) - 2 * of_right + 1)

    return _mean_loss("brier", losses, labels)


def log_loss(labels: Sequence[Any]) -> Metric:
    """Give the negative log-likelihood of the right label, natural logarithm, mean over the rows."""

    def losses(probabilities: np.ndarray, of_right: np.ndarray) -> np.ndarray:
        import numpy as np

        return np.asarray(-np.log(of_right))

    return _mean_loss("log_loss", losses, labels)


def _mean_loss(name: str, losses: Callable[[np.ndarray, np.ndarray], np.ndarray], labels: Sequence[Any]) -> Metric:
    """Make the metric that is the mean of the losses of rows.

    `losses` takes the probabilities of all labels, (rows, labels), and that of each right label, (rows,).
    """

    if labels:
        labels = checked_labels(name, labels)

    def row_values(gold: metrics.Column, probabilities: metrics.Column) -> np.ndarray:
        import numpy as np

        right, matrix = label_probabilities(gold, probabilities, labels)
        of_rows = losses(matrix, matrix[np.arange(len(right)), right])
        return np.stack([of_rows, np.ones_like(of_rows)], axis=1)

    sums = RowSums(row_values)
    return Metric.of_sums(name, sums, scale=1.0, decimals=3, computed_from="probabilities", lower_is_better=True)


def label_probabilities(
    gold: metrics.Column, probabilities: metrics.Column, labels: Sequence[Any] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of each row's right label, (rows,), and the probabilities of all labels, (rows, labels).

    Without `labels`, gold answers are such numbers. Rows may offer different numbers of labels: the probability of a
    label that a row does not offer is 0. Raises `Undefined` where a row has no single right label.
    """
    import numpy as np

    number_of = {label: number for number, label in enumerate(labels)}
    right = []
    for value in gold:
        label = value.gold if isinstance(value, GoldRow) else value
        number = label if isinstance(label, list) else number_of.get(label, label)
        if type(number) is not int:
            raise Undefined("a gold answer is no label, or several")
        right.append(number)
    offered = np.array([len(row) for row in probabilities])
    most = int(offered.max(initial=0))
    matrix = np.array([[*row, *[0.0] * (most - len(row))] for row in probabilities])
    totals = matrix.sum(axis=1, keepdims=True)
    if not (abs(totals - 1) <= ROUNDING).all():
        raise Undefined("the probabilities of the labels of a row do not add up to 1")
    numbers = np.array(right)
    if not ((numbers >= 0) & (numbers < offered)).all():
        raise Undefined("the right label of a row is not among those that have probabilities")
    is_offered = np.arange(most) < offered[:, None]
    return numbers, np.where(is_offered, np.maximum(matrix / totals, SMALLEST), 0.0)
