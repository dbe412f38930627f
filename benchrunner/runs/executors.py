"""The local executor: fits run on this machine, in this process or in several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, final

from benchrunner.errors import RequestError
from benchrunner.executor import Executor, FitRunner
from benchrunner.platform_facts import available_cores, can_run_workers

if TYPE_CHECKING:
    from benchrunner.fits import Fit
    from benchrunner.records import Record


@final
class Local(Executor):
    """Runs fits one after another in this process, or several at once in worker processes that share the cores."""

    name = "local"
    about = "on this machine, one fit after another or several at once (--jobs)"

    def __init__(self, jobs: int = 1) -> None:
        if jobs < 1:
            raise RequestError(f"--jobs must be at least 1, not {jobs}.")
        if jobs > 1 and not can_run_workers():
            raise RequestError("On this operating system fits run one after another: leave --jobs out.")
        self._jobs = jobs

    def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
        if self._jobs == 1:
            for fit in fits:
                yield fit, runner.run(fit)
            return
        from benchrunner.runs.workers import Workers

        with Workers(self._jobs, threads=max(1, available_cores() // self._jobs)) as workers:
            yield from workers.run(fits, runner)
