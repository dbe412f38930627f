"""Bins of confidence, and the calibration error in them: as it is usually computed, and without its bias."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from benchrunner import Metric, RequestError, Undefined

EQUAL_MASS, EQUAL_WIDTH = "equal-mass", "equal-width"
"""Kinds of bins: of about equally many rows, or of equal parts of the confidences from 0 to 1."""
BINS = 15
"""Default number of bins, as in Guo et al. 2017."""
MOST_BINS = 1_000
CHANCE_DRAWS = 1_000
"""Number of draws of right and wrong answers, for the calibration error that chance alone makes."""


@final
@dataclass(frozen=True)
class Binning:
    """How rows are put into bins by their confidence. Rows of equal confidence are in one bin."""

    count: int = BINS
    kind: str = EQUAL_MASS

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MOST_BINS:
            raise RequestError(f"The number of bins is from 1 to {MOST_BINS:,}, not {self.count}.")
        if self.kind not in (EQUAL_MASS, EQUAL_WIDTH):
            raise RequestError(f"Bins are {EQUAL_MASS} or {EQUAL_WIDTH}, not '{self.kind}'.")

    def numbers(self, confidence: np.ndarray) -> np.ndarray:
        """Return the number of each row's bin, (rows,), in the order of the confidences; a bin may be empty."""
        shares = np.arange(1, self.count) / self.count
        edges = np.quantile(confidence, shares) if self.kind == EQUAL_MASS else shares
        return np.searchsorted(edges, confidence)


def plain_error(confidence: np.ndarray, right: np.ndarray, binning: Binning) -> float:
    """Return the expected calibration error (Naeini et al. 2015): the mean over rows of |confidence - accuracy|.

    Confidence and accuracy are the means of the row's bin. Few rows make it too large: see `chance_error`.
    """
    gaps = np.bincount(binning.numbers(confidence), confidence - right)
    return float(np.abs(gaps).sum()) / len(confidence)


def chance_error(confidence: np.ndarray, binning: Binning, seed: int = 0) -> float:
    """Return the expected calibration error that a perfectly calibrated system with these confidences would show.

    It is the mean over draws in which each answer is right with the probability that is its confidence, rows
    independent of each other. Bröcker and Smith (2007) draw the same for the bins of reliability diagrams.
    """
    generator = np.random.default_rng(seed)
    order = np.argsort(confidence, kind="stable")
    ordered = confidence[order]
    starts = _starts(binning.numbers(ordered))
    total = 0.0
    for _ in range(CHANCE_DRAWS):
        right = generator.random(len(ordered)) < ordered
        total += float(np.abs(np.add.reduceat(ordered - right, starts)).sum())
    return total / CHANCE_DRAWS / len(ordered)


def squared_error(binning: Binning) -> Metric:
    """Return the metric of the squared calibration error without bias; it may be negative, as estimates of 0 are.

    An answer is (confidence, whether it is right), and a gold answer is the number of the row's unit: rows of one unit,
    such as a cluster, are not independent. In each bin, (mean confidence - accuracy)² is estimated by the mean of
    gap * gap over pairs of rows of different units, where the gap of a row is its confidence less 1 if it is right.
    Bins count by their rows; a bin of a single unit has no pairs and is left out. Where the confidences of a bin are
    equal and rows independent, this is the debiased estimator of Kumar et al. (2019) and the corrected reliability of
    Ferro and Fricker (2012); of different confidences, it is that of Lee et al. (2023). In resamples, copies of a row
    are one unit.
    """

    def weighted(gold: Sequence[Any], answers: Sequence[Any]) -> _PairProducts:
        confidence, right = np.asarray(answers, dtype=np.float64).T
        return _PairProducts.of(binning.numbers(confidence), np.asarray(gold), confidence - right)

    def compute(gold: Sequence[Any], answers: Sequence[Any]) -> float:
        value = float(weighted(gold, answers)(np.ones((1, len(gold))))[0])
        if not np.isfinite(value):
            raise Undefined("no bin has rows of two or more clusters, so that nothing can be said about other rows")
        return value

    return Metric("squared_error", compute, scale=1.0, weighted=weighted)


@final
@dataclass(frozen=True)
class _PairProducts:
    """Computes the squared calibration error of resamples of the rows of one fit."""

    order: np.ndarray
    """The rows, those of a bin together, and of these those of a unit together."""
    gaps: np.ndarray
    """Confidence less right of each row, in this order."""
    cells: np.ndarray
    """Where each cell begins in this order; a cell has the rows of one unit in one bin."""
    bins: np.ndarray
    """Where each bin begins among the cells."""

    @classmethod
    def of(cls, bins: np.ndarray, units: np.ndarray, gaps: np.ndarray) -> _PairProducts:
        order = np.lexsort((units, bins))
        bins, units = bins[order], units[order]
        is_first = np.r_[True, (np.diff(bins) != 0) | (np.diff(units) != 0)]
        cells = np.flatnonzero(is_first)
        return cls(order, gaps[order], cells, _starts(bins[cells]))

    def __call__(self, weights: np.ndarray) -> np.ndarray:
        """Return the figure of each resample, (resamples,); nan where no bin has pairs. `weights` are whole numbers."""
        ordered = weights[:, self.order]
        counts = np.add.reduceat(ordered, self.cells, axis=1)
        gaps = np.add.reduceat(ordered * self.gaps, self.cells, axis=1)
        rows = self._of_bins(counts)
        pairs = rows**2 - self._of_bins(counts**2)
        products = self._of_bins(gaps) ** 2 - self._of_bins(gaps**2)
        usable = np.where(pairs > 0, rows, 0.0)
        means = products / np.maximum(pairs, 1.0)
        with np.errstate(invalid="ignore"):
            return np.asarray((usable * means).sum(axis=1) / usable.sum(axis=1))

    def _of_bins(self, values: np.ndarray) -> np.ndarray:
        """Add up values of cells, (resamples, cells), to those of bins, (resamples, bins)."""
        return np.asarray(np.add.reduceat(values, self.bins, axis=1))


def _starts(numbers: np.ndarray) -> np.ndarray:
    """Return the places at which an ascending array begins another number."""
    return np.flatnonzero(np.r_[True, np.diff(numbers) != 0])
