"""The local executor: fits run on this machine, in this process or in several."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, final

from benchrunner.errors import PluginError, RequestError
from benchrunner.executor import Executor, FitRunner
from benchrunner.number_limits import check_at_most
from benchrunner.platform_facts import available_cores, can_run_workers
from benchrunner.plugin_code import PluginCode
from benchrunner.printing import value_text

if TYPE_CHECKING:
    from benchrunner.fits import Fit
    from benchrunner.records import Record

MOST_JOBS = 1_024
"""Largest number of worker processes: each loads its own copy of torch, so that more would fill the memory."""


@final
class Local(Executor):
    """Runs fits one after another in this process, or several at once in worker processes that share the cores."""

    name = "local"
    about = "on this machine, one fit after another or several at once (--jobs)"

    def __init__(self, jobs: int = 1) -> None:
        if jobs < 1:
            raise RequestError(f"--jobs must be at least 1, not {jobs}.")
        check_at_most("--jobs", jobs, MOST_JOBS)
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


def executed(executor: Executor, fits: Sequence[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
    """Yield what an executor yields; raise a `PluginError` if it fails, or yields what was not asked for."""
    what, asked = f"The executor '{executor.name}'", {fit.id for fit in fits}
    guard = contextlib.nullcontext if isinstance(executor, Local) else PluginCode
    with guard(what):
        pairs = iter(executor.run(fits, runner))
    while True:
        with guard(what):
            pair = next(pairs, None)
        if pair is None:
            return
        if not _is_pair(pair):
            raise PluginError(f"{what} yielded {value_text(pair)}, not a fit and its record.")
        fit, record = pair
        if fit.id not in asked or record.id != fit.id:
            raise PluginError(f"{what} yielded the record {record.id} for the fit {fit.id}, which was not asked for.")
        asked.remove(fit.id)
        yield fit, record


def _is_pair(value: Any) -> bool:
    from benchrunner.fits import Fit
    from benchrunner.records import Record

    is_pair = isinstance(value, tuple) and len(value) == 2
    return is_pair and isinstance(value[0], Fit) and isinstance(value[1], Record)
