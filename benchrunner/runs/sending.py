"""Fits that an executor sends to other processes or machines, and the files of runs that come back as values."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Protocol

from benchrunner.errors import FitError
from benchrunner.fits.executor import FitRunner
from benchrunner.fits.fit import Fit
from benchrunner.fits.record import Record
from benchrunner.io.files import write_atomically
from benchrunner.runs.folder import RunFolder

LAST = "record.json"
"""File of a run that is written last: where it exists, all other files do."""


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
        record = RunFolder(runner.workspace.runs, fit.id).finished_record()
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


def packed(folder: Path) -> dict[str, bytes]:
    """Read the files of a run's folder, without its checkpoint, lock and temporary files: path -> bytes."""
    files = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in name.parts)
        if path.is_file() and name.parts[0] != "checkpoint" and not is_hidden:
            files[name.as_posix()] = path.read_bytes()
    return files


def unpack(files: Mapping[str, bytes], runs: Path, run: str) -> None:
    """Write the files of a run to its folder, unless the run is finished there already."""
    folder = RunFolder(runs, run)
    with folder.locked(lambda: None):
        if folder.finished_record() is not None:
            return
        for name in sorted(files, key=lambda name: name == LAST):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                raise FitError(f"A worker sent a file of the run {run} with the name {name}, which is outside of it.")
            write_atomically(folder.path / path, partial(Path.write_bytes, data=files[name]))
