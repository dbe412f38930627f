"""The hooks that observe fits and studies. Each docstring holds a complete plugin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchrunner.plugins.hookspecs import hookspec

if TYPE_CHECKING:
    from benchrunner.fits.fit import Fit, Prediction, Record
    from benchrunner.fits.progress import Event


@hookspec
def before_study(fits: Sequence[Fit]) -> None:
    """Observe that a study is about to start, with all its fits, also the finished ones; a `RequestError` refuses it.

    from benchrunner import hookimpl

    @hookimpl
    def before_study(fits):
        print(len(fits), "fits of", len({fit.task for fit in fits}), "tasks")
    """


@hookspec
def on_progress(fit: Fit, event: Event) -> None:
    """Observe progress inside a fit, for example a training step. Every tenth step and the last one have figures: the
    loss, the learning rate and the speed.

    from benchrunner import hookimpl

    @hookimpl
    def on_progress(fit, event):
        print(fit.id, event.kind, event.done, event.total)
        if event.figures:
            print("loss", event.figures["loss"], "learning rate", event.figures["lr"])
            print(event.figures["examples_per_second"], "examples per second")
    """


@hookspec
def after_fit(fit: Fit, record: Record) -> None:
    """Observe that a fit has finished and its record has been written.

    from benchrunner import hookimpl

    @hookimpl
    def after_fit(fit, record):
        print(fit.id, record.status)
    """


@hookspec
def after_predict(fit: Fit, prediction: Prediction, record: Record) -> None:
    """Observe that a fit has answered a split and the answers have been written; the record has the scores.

    from benchrunner import hookimpl

    @hookimpl
    def after_predict(fit, prediction, record):
        for name, score in record.scores.items():
            print(fit.id, prediction.split, name, score.value)
    """


@hookspec
def on_fit_error(fit: Fit, error: Exception) -> None:
    """Observe that a fit ended with an error, which its record contains too.

    from benchrunner import hookimpl

    @hookimpl
    def on_fit_error(fit, error):
        print(fit.id, error)
    """
