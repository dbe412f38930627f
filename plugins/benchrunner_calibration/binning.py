"""Bins of confidence, and the calibration error in them as it is usually computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from benchrunner import RequestError

EQUAL_MASS, EQUAL_WIDTH = "equal-mass", "equal-width"
"""Kinds of bins: of about equally many rows, or of equal parts of the confidences from 0 to 1."""
BINS = 15
"""Default number of bins, as in Guo et al. 2017."""
MOST_BINS = 1_000


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

    Confidence and accuracy are the means of the row's bin. Few rows make it too large.
    """
    gaps = np.bincount(binning.numbers(confidence), confidence - right)
    return float(np.abs(gaps).sum()) / len(confidence)


def starts_of(numbers: np.ndarray) -> np.ndarray:
    """Return the places at which an ascending array begins another number."""
    return np.flatnonzero(np.r_[True, np.diff(numbers) != 0])
