"""Trackers for benchrunner: the curves and scores of fits in TensorBoard, trackio, Weights & Biases and MLflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner.results import Event, Fit, Prediction, Record
    from benchrunner_trackers.observer import Observer

__all__ = ["after_fit", "after_predict", "before_study", "on_fit_error", "on_progress"]


@hookimpl
def before_study(fits: Sequence[Fit]) -> None:
    """Load the chosen trackers, so that a wrong name or a missing package ends the command before hours of fitting."""
    _observer().load()


@hookimpl
def on_progress(fit: Fit, event: Event) -> None:
    """Add the figures of a training step to the curves."""
    if event.figures:
        _observer().add(fit, int(event.done), event.figures)


@hookimpl
def after_fit(fit: Fit, record: Record) -> None:
    """Write the end of the fit."""
    _observer().end(fit, failed=record.status != "done")


@hookimpl
def on_fit_error(fit: Fit, error: Exception) -> None:
    """Write that the fit failed."""
    _observer().end(fit, failed=True)


@hookimpl
def after_predict(fit: Fit, prediction: Prediction, record: Record) -> None:
    """Write the scores of a prediction."""
    _observer().score(fit, prediction.split, record)


def _observer() -> Observer:
    """Return the observer of the trackers that the environment names."""
    from benchrunner_trackers.observer import observer
    from benchrunner_trackers.settings import TrackerSettings

    return observer(TrackerSettings.from_environment())
