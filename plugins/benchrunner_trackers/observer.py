"""Passes what happens in fits on to the chosen trackers."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from benchrunner.results import Fit, Record
from benchrunner_trackers.settings import TrackerSettings
from benchrunner_trackers.tracker import Tracker


class Observer:
    """Keeps the run of a fit open in every chosen tracker. Leaves out fits without a backbone: they have no curves."""

    def __init__(self, settings: TrackerSettings) -> None:
        self._settings = settings
        self._trackers: list[Tracker] | None = None
        self._fit: Fit | None = None
        self._kept: list[int] = []  # for each tracker, the last step that its run has
        self._failed = False

    def load(self) -> list[Tracker]:
        """Make the trackers, which imports their libraries, and return them."""
        if self._trackers is None:
            trackers = [_made(name, self._settings) for name in self._settings.trackers]
            for tracker in trackers:
                tracker.library()
            self._trackers = trackers
        return self._trackers

    def add(self, fit: Fit, step: int, figures: Mapping[str, float]) -> None:
        """Add the figures of a step. A step that an earlier process added before it was killed is not added again."""
        self._open(fit, step)
        for at, tracker in enumerate(self.load()):
            if step > self._kept[at]:
                tracker.add(step, {f"train/{name}": value for name, value in figures.items()})
                self._kept[at] = step

    def end(self, fit: Fit, *, failed: bool) -> None:
        """Remember how the fit ended; close the run of a fit that failed, which has no scores."""
        if self._fit is not None and self._fit.id == fit.id:
            self._failed = failed
            if failed:
                self._close()

    def score(self, fit: Fit, split: str, record: Record) -> None:
        """Write the scores of a prediction at the last step of the curves, and close the run."""
        values = {f"{split}/{name}": score.value for name, score in record.scores.items() if score.value is not None}
        if fit.backbone and values:
            self._open(fit, None)
            for at, tracker in enumerate(self.load()):
                tracker.add(self._kept[at], values)
            self._close()

    def _open(self, fit: Fit, first_step: int | None) -> None:
        """Open the run of a fit in every tracker, unless it is open; close the run of an earlier fit."""
        if self._fit is None or self._fit.id != fit.id:
            self._close()
            self._kept = [tracker.open(fit, first_step) for tracker in self.load()]
            self._fit, self._failed = fit, False

    def _close(self) -> None:
        if self._fit is not None:
            self._fit = None
            for tracker in self.load():
                tracker.close(failed=self._failed)


@functools.cache
def observer(settings: TrackerSettings) -> Observer:
    """Return the observer of some settings: one in each process, since hooks are functions and runs stay open."""
    return Observer(settings)


def _made(name: str, settings: TrackerSettings) -> Tracker:
    if name == "tensorboard":
        from benchrunner_trackers.tensorboard import TensorBoard

        return TensorBoard(settings)
    if name == "mlflow":
        from benchrunner_trackers.mlflow import MLflow

        return MLflow(settings)
    from benchrunner_trackers.wandb_style import Trackio, Wandb

    return Trackio(settings) if name == "trackio" else Wandb(settings)
