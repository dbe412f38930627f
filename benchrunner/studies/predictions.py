"""Protocol of the objects that give the predictions of a study's fits."""

from __future__ import annotations

from typing import Protocol

from benchrunner.fits.fit import Fit
from benchrunner.runs.predicting import Predicted


class Predictions(Protocol):
    """An object that gives the predictions of fits: computed by a runner, or the kept ones of a study."""

    def predict(self, fit: Fit, split: str) -> Predicted:
        """Return the fit's answers to a split, with their scores."""
