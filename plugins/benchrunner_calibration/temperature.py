"""Temperatures: one number divides all logits of a fit (Guo et al. 2017), fitted on other rows than it is scored on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchrunner import Metric
from benchrunner.engine import metrics, probabilities as of_scores
from benchrunner_calibration.measures import AFTER, TEMPERATURE, root_of
from benchrunner_statistics import ScoredAnswers
from benchrunner_tasks import label_probabilities

LOWEST, HIGHEST = 0.05, 20.0
"""Limits of a temperature. Answers that are all right have no best temperature: the lower, the better."""


def fitted_temperature(right: np.ndarray, probabilities: np.ndarray) -> float:
    """Return the temperature with the highest likelihood of the right labels.

    `right` has the number of each row's right label, and `probabilities` those of all labels, (rows, labels). The log
    loss is convex in 1 / temperature. Its slope is the expected score of a label less that of the right label.
    """
    from scipy.optimize import brentq

    scores = _scores(probabilities)
    finite = np.where(np.isneginf(scores), 0.0, scores)
    of_right = finite[np.arange(len(right)), right]

    def slope(log_temperature: float) -> float:
        expected = (of_scores.softmax(scores / np.exp(log_temperature)) * finite).sum(axis=1)
        return float((expected - of_right).mean())

    low, high = float(np.log(LOWEST)), float(np.log(HIGHEST))
    if slope(low) <= 0:  # the best temperature is lower than the lowest allowed one
        return LOWEST
    if slope(high) >= 0:
        return HIGHEST
    return float(np.exp(brentq(slope, low, high, xtol=1e-10)))


def _scores(probabilities: np.ndarray) -> np.ndarray:
    """Return the log of each probability: logits up to a number for each row; -inf for a label that is not offered."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities))


def crossed(right: np.ndarray, probabilities: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return probabilities with temperatures: each half of the rows has the one that the other half fitted.

    `half` says of each row whether it is in the first half.
    """
    of_first = fitted_temperature(right[half], probabilities[half])
    of_second = fitted_temperature(right[~half], probabilities[~half])
    of_row = np.where(half, of_second, of_first)
    return of_scores.softmax(_scores(probabilities) / of_row[:, None])


def temperature_measures(labels: Sequence[Any], half: np.ndarray, compared: Sequence[Metric]) -> list[Metric]:
    """Return the metrics of temperatures: the one that all rows fit, and what those of the halves change.

    `compared` are the metrics in which systems are compared, the squared error first.
    """

    def fitted(gold: metrics.Column, probabilities: metrics.Column) -> float:
        return fitted_temperature(*label_probabilities(gold, probabilities, labels))

    def tempered(gold: metrics.Column, probabilities: metrics.Column) -> metrics.Column:
        return list(crossed(*label_probabilities(gold, probabilities, labels), half))

    square = compared[0]
    after = replace(square, compute=lambda gold, given: square.compute(gold, tempered(gold, given)))
    return [
        Metric(TEMPERATURE, fitted, scale=1.0, decimals=2, computed_from="probabilities"),
        root_of(after, AFTER),
        *(_change(metric, tempered) for metric in compared),
    ]


def _change(metric: Metric, tempered: Callable[[metrics.Column, metrics.Column], metrics.Column]) -> Metric:
    """Return the metric of what temperatures change: the figure with them less the figure without."""

    def compute(gold: metrics.Column, probabilities: metrics.Column) -> float:
        return metric.value(gold, tempered(gold, probabilities)) - metric.value(gold, probabilities)

    def weighted(gold: metrics.Column, probabilities: metrics.Column) -> metrics.ScoresOfWeights:
        before = ScoredAnswers(metric, gold, probabilities).scores_of_weights
        after = ScoredAnswers(metric, gold, tempered(gold, probabilities)).scores_of_weights
        return lambda weights: after(weights) - before(weights)

    name = f"change of {metric.name}"
    return replace(metric, name=name, compute=compute, row_sums=None, weighted=weighted, lower_is_better=False)
