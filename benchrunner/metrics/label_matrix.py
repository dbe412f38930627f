"""Answers and probabilities as matrices of rows and labels, as scikit-learn reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchrunner.errors import PluginError, Undefined

if TYPE_CHECKING:
    import numpy as np


def checked_labels(metric: str, labels: Sequence[Any]) -> tuple[Any, ...]:
    """Give the labels as a tuple; `PluginError` where they are not two or more different labels."""
    if isinstance(labels, str) or len(set(labels)) != len(labels) or len(labels) < 2:
        raise PluginError(f"The metric {metric} needs two or more different labels, not {labels!r}.")
    return tuple(labels)


def labels_of(answer: Any) -> Sequence[Any]:
    """Give the labels of an answer: the list itself, or the single label as a list."""
    return answer if isinstance(answer, list | tuple) else [answer]


def label_matrix(answers: Sequence[Any], labels: Sequence[Any]) -> np.ndarray:
    """Mark the labels of each answer: bool (rows, labels). Labels that are not listed are ignored."""
    import numpy as np

    column = {label: number for number, label in enumerate(labels)}
    matrix = np.zeros((len(answers), len(labels)), dtype=bool)
    for row, answer in enumerate(answers):
        for label in labels_of(answer):
            if label in column:
                matrix[row, column[label]] = True
    return matrix


def probability_matrix(probabilities: Sequence[Any], labels: Sequence[Any]) -> np.ndarray:
    """Give the probabilities as (rows, labels), in the order of the labels; `Undefined` where they are not finite."""
    import numpy as np

    matrix = np.asarray(probabilities, dtype=np.float64)
    if matrix.shape != (len(probabilities), len(labels)):
        raise ValueError(f"expected a probability for each of {len(labels)} labels, found the shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        raise Undefined("not all probabilities are finite")
    return matrix
