"""Fits that an executor sends to other processes or machines: which are sent, and what happens if the study stops."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from benchrunner.fits.executor import FitRunner
from benchrunner.fits.fit import Fit
from benchrunner.fits.record import Record


class SentFits(Protocol):
    """The fits of one study on the way to their workers and back."""

    def run(self, fits: Sequence[Fit]) -> Iterator[tuple[Fit, Record]]:
        """Send fits to workers and yield each fit with its record as its worker finishes."""

    def cancel(self) -> None:
        """Stop all workers; fits in training have a moment to write their checkpoints."""


def send_fits(
    fits: Iterable[Fit], runner: FitRunner, begin: Callable[[str], AbstractContextManager[SentFits]]
) -> Iterator[tuple[Fit, Record]]:
    """Yield finished fits from disk, and let `begin` send the other fits. Workers are stopped if the study stops.

    `begin` gets the value of `FitOrder.mark`. It is not called if all fits are finished.
    """
    unfinished = []
    for fit in fits:
        record = runner.finished(fit)
        if record is None:
            unfinished.append(fit)
        else:
            yield fit, record
    if unfinished:
        with _marked(runner.workspace.runs) as mark, begin(mark) as sent:
            try:
                yield from sent.run(unfinished)
            except BaseException:  # Ctrl-C too: no worker may go on by itself
                sent.cancel()
                raise


@contextlib.contextmanager
def _marked(runs: Path) -> Iterator[str]:
    """Put a file of a new name into the runs folder and yield the name: see `FitOrder.mark`."""
    runs.mkdir(parents=True, exist_ok=True)
    mark = runs / f".{os.urandom(16).hex()}.mark"
    mark.touch()
    try:
        yield mark.name
    finally:
        mark.unlink(missing_ok=True)
