"""The squared calibration error without the bias of few rows, as a metric of probabilities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchrunner import Metric, Undefined
from benchrunner.engine import metrics
from benchrunner_calibration.binning import Binning, starts_of

Answered = Callable[[metrics.Column, metrics.Column], tuple[np.ndarray, np.ndarray]]
"""Computes the confidence of each answer, and 1 where the answer is right, else 0, from (gold, probabilities)."""


def squared_error(name: str, answered: Answered, binning: Binning, clusters: str) -> Metric:
    """Return the metric of the squared calibration error without bias; it may be negative, as estimates of 0 are.

    Rows with equal values in the column `clusters` are a unit, and else each row: rows of one unit are not independent.
    In each bin, (mean confidence - accuracy)² is estimated by the mean of gap * gap over pairs of rows of different
    units, where the gap of a row is its confidence less 1 if it is right. Bins count by their rows; a bin of a single
    unit has no pairs and is left out. Where the confidences of a bin are equal and rows independent, this is the
    debiased estimator of Kumar et al. (2019) and the corrected reliability of Ferro and Fricker (2012); of different
    confidences, it is that of Lee et al. (2023). In resamples, copies of a row are one unit.
    """

    def weighted(gold: metrics.Column, probabilities: metrics.Column) -> metrics.ScoresOfWeights:
        confidence, right = answered(gold, probabilities)
        units = np.arange(len(gold))
        if clusters:
            _, units = np.unique([repr(row[clusters]) for row in gold], return_inverse=True)
        return _pair_products(binning.numbers(confidence), units, confidence - right)

    def compute(gold: metrics.Column, probabilities: metrics.Column) -> float:
        value = float(weighted(gold, probabilities)(np.ones((1, len(gold))))[0])
        if not np.isfinite(value):
            raise Undefined("no bin has rows of two or more clusters, so that nothing can be said about other rows")
        return value

    return Metric(
        name,
        compute,
        scale=10_000.0,  # points²
        computed_from="probabilities",
        weighted=weighted,
        columns=(clusters,) if clusters else (),
        lowest=-1.0,
        lower_is_better=True,
    )


def _pair_products(bins: np.ndarray, units: np.ndarray, gaps: np.ndarray) -> metrics.ScoresOfWeights:
    """Prepare the squared calibration error of resamples of rows with these bins, units and gaps."""
    order = np.lexsort((units, bins))  # the rows of a bin together, and of these those of a unit
    bins, units, gaps = bins[order], units[order], gaps[order]
    is_first = np.r_[True, (np.diff(bins) != 0) | (np.diff(units) != 0)]
    cells = np.flatnonzero(is_first)  # a cell has the rows of one unit in one bin
    starts = starts_of(bins[cells])

    def of_bins(values: np.ndarray) -> np.ndarray:
        """Add up values of cells, (resamples, cells), to those of bins, (resamples, bins)."""
        return np.asarray(np.add.reduceat(values, starts, axis=1))

    def scores(weights: np.ndarray) -> np.ndarray:
        """Return the figure of each resample, (resamples,); nan where no bin has pairs. `weights` are whole numbers."""
        ordered = weights[:, order]
        counts = np.add.reduceat(ordered, cells, axis=1)
        sums = np.add.reduceat(ordered * gaps, cells, axis=1)
        rows = of_bins(counts)
        pairs = rows**2 - of_bins(counts**2)
        products = of_bins(sums) ** 2 - of_bins(sums**2)
        usable = np.where(pairs > 0, rows, 0.0)
        means = products / np.maximum(pairs, 1.0)
        with np.errstate(invalid="ignore"):
            return np.asarray((usable * means).sum(axis=1) / usable.sum(axis=1))

    return scores
