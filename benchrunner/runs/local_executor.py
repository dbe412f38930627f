"""The local executor: fits run on this machine, in this process or in several."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, final

from benchrunner.console.printing import print_note
from benchrunner.errors import PluginError, RequestError
from benchrunner.fits.executor import Executor, FitRunner
from benchrunner.fits.fit import Fit, Record
from benchrunner.fits.progress import quiet_report
from benchrunner.io.messages import quoted
from benchrunner.parameters.parameter import Parameter
from benchrunner.plugin_code import guarded
from benchrunner.runs.core_shares import CoreShares, automatic_shares, torch_threads
from benchrunner.runs.folder import RunFolder

if TYPE_CHECKING:
    from benchrunner.plugins.registry import Plugins
    from benchrunner.runs.runner import Runner

JOBS = Parameter(
    "jobs",
    "fits at the same time on this machine; by default on a CPU as many as cores and memory allow, else 1",
    kind=int,
    at_least=1,
    at_most=1_024,
)
"""The option for the number of worker processes: each loads its own copy of torch, so that more fill the memory."""


@final
class Local(Executor):
    """Runs fits one after another in this process, or several at once in worker processes that share the cores.

    Without `jobs`, the number of fits at the same time follows from the cores, the memory and the fits: see
    `automatic_shares`. On a GPU, fits then run one after another. Trusted code of checkpoints runs in worker processes
    only: with such code, a worker process runs also a single fit.
    """

    name = "local"
    about = "on this machine, on a CPU several fits at once (--jobs)"

    def __init__(self, jobs: int | None = None) -> None:
        if jobs is not None:
            JOBS.checked(jobs, "--jobs")
        self._jobs = jobs

    def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
        fits = list(fits)
        left = []
        for fit in fits:
            record = RunFolder(runner.workspace.runs, fit.id).finished_record()
            if record is None or runner.rows is not None:
                left.append(fit)
            else:
                yield fit, record
        if not left:
            return
        runner.computing.resolved().check_devices(self._jobs or 1)
        shares = self.shares(fits, runner)
        if (shares is None or len(left) < 2) and not runner.workspace.settings.needs_workers:
            yield from _run_here(left, shares, runner)
            return
        from benchrunner.runs.workers import Workers

        if shares is None:
            shares = CoreShares.of(fits, 1)
        elif self._jobs is None and runner.report is not quiet_report:
            print_note(f"benchrunner: {len(left)} fits are left to run, {shares.text}.")
        with Workers(shares) as workers:
            yield from workers.run(left, runner)

    def shares(self, fits: Sequence[Fit], runner: FitRunner) -> CoreShares | None:
        """Return the share of the cores for each fit; None if the fits run one after another in this process."""
        if self._jobs is None:
            return automatic_shares(fits, runner)
        return None if self._jobs == 1 else CoreShares.of(fits, self._jobs)


def _run_here(fits: Sequence[Fit], shares: CoreShares | None, runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
    """Run fits one after another in this process, with the threads that they would have in a worker process."""
    for fit in fits:
        threads = contextlib.nullcontext() if shares is None else torch_threads(shares.threads[fit.id])
        with threads:
            yield fit, runner.run(fit)


def chosen_executor(plugins: Plugins, name: str | None, options: Mapping[str, str], jobs: int | None) -> Executor:
    """Return the executor of a name, by default `local`, with its options; `jobs` is for `local` alone."""
    chosen: Executor = plugins.executors.find(Local.name if name is None else name).configured(options)
    if jobs is None:
        return chosen
    if not isinstance(chosen, Local):
        raise RequestError(f"--jobs is for the executor 'local'; '{chosen.name}' decides for itself.")
    return Local(jobs)


def executed(executor: Executor, fits: Sequence[Fit], runner: Runner) -> Iterator[tuple[Fit, Record]]:
    """Yield what an executor yields; raise a `PluginError` if it fails, or yields what was not asked for."""
    what = f"The executor '{executor.name}'"
    asked = {fit.id for fit in fits}
    guard = contextlib.nullcontext if isinstance(executor, Local) else guarded
    with guard(what):
        pairs = iter(executor.run(list(fits), runner.fit_runner) or ())
    while True:
        with guard(what):
            pair = next(pairs, None)
        match pair:
            case None:
                return
            case (Fit() as fit, Record() as record):
                pass
            case _:
                raise PluginError(f"{what} yielded {quoted(pair)}, not a fit and its record.")
        if fit.id not in asked or record.id != fit.id:
            raise PluginError(f"{what} yields {record.id} for {fit.id}: yield each fit once with its record.")
        asked.remove(fit.id)
        yield fit, record
