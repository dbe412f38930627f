"""The executor: submits the fits of a study as jobs, and collects their records from the shared runs folder."""

from __future__ import annotations

import contextlib
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import FitError, RequestError, json_files
from benchrunner.results import Event, Executor, Fit, FitRunner, Record
from benchrunner_clusters import RemoteAnswer, Sender, last_line, send_fits
from benchrunner_slurm.settings import SlurmSettings

if TYPE_CHECKING:
    from submitit import Job

ARRAY_SIZE = 1000
"""Largest number of jobs in an array: SLURM's MaxArraySize is 1001 by default, and indices are below it."""
STOPPED_SECONDS = 30.0
"""Most time that cancelled jobs have to end, before the command returns without waiting for them."""


@final
class SlurmExecutor(Executor):
    """Runs every fit as a job of a job array. The nodes need a runs folder that all of them share."""

    name = "slurm"
    about = "as the jobs of a SLURM job array, with a shared runs folder"

    def __init__(self, settings: SlurmSettings | None = None) -> None:
        self.settings = settings or SlurmSettings()

    def configured(self, options: Mapping[str, str]) -> SlurmExecutor:
        """Return an executor with these settings: the fields of `SlurmSettings`."""
        return SlurmExecutor(SlurmSettings.read(options, "executor option"))

    def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
        """Yield each fit with its record as its job finishes. Finished fits are read, not submitted."""
        return send_fits(fits, runner, lambda mark: contextlib.nullcontext(_Jobs(self.settings, runner, mark)))


class _Jobs(Sender):
    """The jobs of one study, from submission to their records."""

    def __init__(self, settings: SlurmSettings, runner: FitRunner, mark: str) -> None:
        super().__init__(runner, mark, cpus=settings.cpus, gpus=settings.gpus)
        self._settings = settings
        self._logs = (settings.logs or self.runs / ".slurm").absolute()
        self._executor = self._made()
        self._running: list[tuple[Fit, Job[RemoteAnswer]]] = []

    def run(self, fits: Sequence[Fit]) -> Iterator[tuple[Fit, Record]]:
        """Submit jobs and yield fits with their records. A job that is lost is an error once all others have ended."""
        waiting = deque(fits)
        while waiting or self._running:
            self._submit(waiting)
            finished = [pair for pair in self._running if pair[1].done()]
            for fit, job in finished:
                self._running.remove((fit, job))
                record = self._record(fit, job)
                if record is not None:
                    yield fit, record
            if not finished:
                self._report()
                time.sleep(self._settings.poll_seconds)
        if self.lost:
            raise FitError(
                f"{len(self.lost)} of {len(fits)} jobs ended without a record, the first: {self.lost[0]} "
                "The other fits are finished; the same command goes on from here."
            )

    def cancel(self) -> None:
        """Cancel all jobs, and give them a moment to write their checkpoints and to end."""
        for _, job in self._running:
            with contextlib.suppress(subprocess.SubprocessError, OSError):
                job.cancel(check=False)
        deadline = time.monotonic() + STOPPED_SECONDS
        while self._settings.cluster == "local" and time.monotonic() < deadline:
            if all(job.done() for _, job in self._running):
                return
            time.sleep(0.05)

    def _made(self) -> Any:
        """Make submitit's executor with the settings."""
        import submitit

        settings = self._settings
        if settings.cluster == "slurm" and not (shutil.which("sbatch") and shutil.which("srun")):
            raise RequestError(
                "There is no SLURM on this machine (no sbatch and srun): run the command on a login node, or try the "
                "jobs on this machine with --executor-option cluster=local."
            )
        options: dict[str, Any] = {
            "name": "benchrunner",
            "timeout_min": settings.minutes,
            "cpus_per_task": self.cores,
            "gpus_per_node": int(self.gpus),
            "mem_gb": settings.memory_gb,
            "slurm_partition": settings.partition,
            "slurm_account": settings.account,
            "slurm_qos": settings.qos,
            "slurm_constraint": settings.constraint,
            "slurm_array_parallelism": settings.at_once,
            "slurm_setup": [settings.setup] if settings.setup else None,
            "local_setup": [settings.setup] if settings.setup else None,
        }
        executor = submitit.AutoExecutor(folder=self._logs / "%j", cluster=settings.cluster)
        executor.update_parameters(**{name: value for name, value in options.items() if value is not None})
        return executor

    def _submit(self, waiting: deque[Fit]) -> None:
        """Submit jobs until `at_once` are queued or run: SLURM limits the jobs of a user, and one array of many."""
        from benchrunner_slurm.job import RunFit

        while waiting and len(self._running) < self._settings.at_once:
            size = min(ARRAY_SIZE, self._settings.at_once - len(self._running), len(waiting))
            fits = [waiting.popleft() for _ in range(size)]
            run_fit = RunFit()  # type: ignore[no-untyped-call]
            try:
                with _sigint_reaches_children():
                    jobs = self._executor.map_array(
                        run_fit, map(self.order, fits), [self._progress(fit) for fit in fits]
                    )
            except (RuntimeError, ValueError, subprocess.SubprocessError, OSError) as error:
                raise RequestError(f"SLURM does not take the jobs: {last_line(error)}") from None
            self._running += zip(fits, jobs, strict=True)

    def _record(self, fit: Fit, job: Job[RemoteAnswer]) -> Record | None:
        """Return the record of a job that has ended; None, and a reason in `lost`, if the job left no record."""
        from submitit.core.utils import FailedJobError

        error = job.exception()
        if error is None:
            return job.result().record_in(self.runs)
        if isinstance(error, FailedJobError):  # the function itself could not be loaded or run
            trace = str(error).partition("with trace:")[2].partition("\nYou can check")[0].strip("-\n ")
            raise FitError(
                f"The job {job.job_id} could not run the fit {fit.id}: {last_line(trace)}. Are benchrunner and the "
                f"same plugins installed on the compute nodes? The whole log: {job.paths.stderr}."
            )
        self.lost.append(f"job {job.job_id} ({job.state.lower()}), see {job.paths.stderr}.")
        return None

    def _progress(self, fit: Fit) -> Path:
        return self._logs / f"{self.mark.strip('.')}-{fit.id}.json"

    def _report(self) -> None:
        """Report the last progress that each job has written."""
        for fit, _ in self._running:
            with contextlib.suppress(RequestError, KeyError, TypeError):  # no progress yet
                progress = json_files.read_json(self._progress(fit))
                event = Event(progress["kind"], progress["done"], progress["total"], progress["text"])
                if progress["fit"] == fit.id:
                    self.runner.report(fit, event)


@contextlib.contextmanager
def _sigint_reaches_children() -> Iterator[None]:
    """Let processes that are started inside react to SIGINT, with which submitit cancels jobs on this machine.

    A command in the background (nohup ... &) ignores SIGINT, and so would every process that it starts.
    """
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    if not ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
