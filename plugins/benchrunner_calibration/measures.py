"""The figures of calibration, as metrics of probabilities of labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchrunner import ACCURACY, Metric, RowSums
from benchrunner_calibration.binning import Binning, plain_error
from benchrunner_calibration.squared_error import Answered, squared_error
from benchrunner_tasks import brier, label_probabilities, log_loss

ERROR, SQUARE = "calibration error", "calibration error²"
AFTER, CHANGE = f"{ERROR} after", f"change of {SQUARE}"
ROOTS = {ERROR: (SQUARE,), AFTER: (SQUARE, CHANGE)}
"""Root of a squared error -> the figures whose sum is the square."""
PLAIN, TEMPERATURE = "plain ECE", "temperature"
NO_INTERVAL = (*ROOTS, PLAIN, TEMPERATURE)
"""Names of the figures without an interval of their own: chance makes the plain error too large, and a root has no
error near 0."""
TESTED = (SQUARE, "brier", "log_loss")
"""Names of the figures in which systems are compared."""


def confidence_and_right(
    gold: Sequence[Any], probabilities: Sequence[Any], labels: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the highest probability of each row, and 1 where that label is right, else 0."""
    right, matrix = label_probabilities(gold, probabilities, labels)
    return matrix.max(axis=1), np.asarray(matrix.argmax(axis=1) == right, dtype=np.float64)


def measures(labels: Sequence[Any], binning: Binning, clusters: str) -> tuple[Metric, ...]:
    """Return the metrics in the order of tables. `clusters` is the column of clusters; empty for independent rows."""
    answered = partial(confidence_and_right, labels=labels)

    def plain(gold: Sequence[Any], probabilities: Sequence[Any]) -> float:
        return plain_error(*answered(gold, probabilities), binning)

    square = squared_error(SQUARE, answered, binning, clusters)
    return (
        ACCURACY,
        _mean("confidence", answered, lambda confidence, right: confidence),
        _mean("overconfidence", answered, lambda confidence, right: confidence - right, lowest=-1.0),
        root_of(square, ERROR),
        square,
        Metric(PLAIN, plain, computed_from="probabilities"),
        brier(labels),
        log_loss(labels),
    )


def _mean(
    name: str, answered: Answered, value: Callable[[np.ndarray, np.ndarray], np.ndarray], lowest: float = 0.0
) -> Metric:
    """Return the metric that is the mean over the rows of a value of (confidence, whether the answer is right)."""

    def row_values(gold: Sequence[Any], probabilities: Sequence[Any]) -> np.ndarray:
        values = value(*answered(gold, probabilities))
        return np.stack([values, np.ones_like(values)], axis=1)

    sums = RowSums(row_values)
    return Metric.of_sums(name, sums, lowest=lowest, computed_from="probabilities")


def root_of(square: Metric, name: str) -> Metric:
    """Return the metric of the root of a squared error; 0 where the square is negative."""
    return replace(square, name=name, figure=root, scale=100.0, weighted=None)


def root(value: float) -> float:
    """Return the root of a squared error; 0 in the place of a negative estimate."""
    return math.sqrt(max(0.0, value))
