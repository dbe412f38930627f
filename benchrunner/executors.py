"""Where fits run."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, final

from benchrunner.errors import RequestError

if TYPE_CHECKING:
    from benchrunner.fits import Fit
    from benchrunner.records import Record
    from benchrunner.runner import Runner


class Executor(ABC):
    """Runs independent fits and gives back each with its record, in any order."""

    name: str
    about: str

    @abstractmethod
    def run(self, fits: Iterable[Fit], runner: Runner) -> Iterator[tuple[Fit, Record]]:
        """Every fit once; a fit that fails gives its record and stops nobody."""


@final
class Local(Executor):
    """One after another in this process, or several at once in processes that share its cores."""

    name = "local"
    about = "on this machine, one fit after another or several at once (--jobs)"

    def __init__(self, jobs: int = 1) -> None:
        if jobs < 1:
            raise RequestError(f"--jobs must be at least 1, not {jobs}.")
        self._jobs = jobs

    def run(self, fits: Iterable[Fit], runner: Runner) -> Iterator[tuple[Fit, Record]]:
        if self._jobs == 1:
            for fit in fits:
                yield fit, runner.run(fit)
            return
        from benchrunner.workers import Workers

        with Workers(self._jobs, threads=max(1, len(os.sched_getaffinity(0)) // self._jobs)) as workers:
            yield from workers.run(fits, runner)
