"""The sending of fits: only unfinished fits are sent, and none goes on after its study has stopped."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

from benchrunner.results import Fit, FitRunner, Record, RunFolder
from benchrunner_clusters.remote_orders import Files, RemoteOrder


class Sender(ABC):
    """Sends the fits of a study, and takes their records."""

    def __init__(self, runner: FitRunner, mark: str, *, cpus: int, gpus: float | None, files: Files = "shared") -> None:
        computing = runner.computing.resolved()
        self.runner, self.mark, self.files = runner, mark, files
        self.gpus = computing.gpus(gpus)
        self.cores = max(cpus, computing.devices)
        self.runs = runner.workspace.runs.absolute()
        self.lost: list[str] = []
        """What is known of each fit that left no record."""

    def order(self, fit: Fit) -> RemoteOrder:
        """Make the order for a fit."""
        return RemoteOrder.of(fit, self.runner, cores=self.cores, gpus=self.gpus, files=self.files, mark=self.mark)

    @abstractmethod
    def run(self, fits: Sequence[Fit]) -> Iterator[tuple[Fit, Record]]:
        """Send fits to workers and yield each fit with its record as its worker finishes."""

    @abstractmethod
    def cancel(self) -> None:
        """Stop all workers; fits in training have a moment to write their checkpoints."""


def send_fits(
    fits: Iterable[Fit], runner: FitRunner, begin: Callable[[str], AbstractContextManager[Sender]]
) -> Iterator[tuple[Fit, Record]]:
    """Yield finished fits from disk, and send the others.

    Workers are stopped if the study stops. `begin` gets the value of `RemoteOrder.mark`. It is not called if all fits
    are finished.
    """
    unfinished = []
    for fit in fits:
        record = RunFolder(runner.workspace.runs, fit.id).finished_record()
        if record is None:
            unfinished.append(fit)
        else:
            yield fit, record
    if not unfinished:
        return
    mark = runner.workspace.runs / f".{os.urandom(16).hex()}.mark"
    mark.parent.mkdir(parents=True, exist_ok=True)
    mark.touch()
    try:
        with begin(mark.name) as sender:
            try:
                yield from sender.run(unfinished)
            except BaseException:  # Ctrl-C too: no worker may go on by itself
                sender.cancel()
                raise
    finally:
        mark.unlink(missing_ok=True)


def last_line(text: BaseException | str) -> str:
    """Return the last line of a message or traceback that is not empty, without its full stop."""
    last = (str(text).strip() or "no reason is given").splitlines()[-1]
    return last.strip().rstrip(".")
