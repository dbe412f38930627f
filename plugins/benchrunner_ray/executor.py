"""The executor: sends the fits of a study to a Ray cluster, and collects their records."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, final

from benchrunner import FitError, RequestError
from benchrunner.results import Executor, Fit, FitRunner, Record, interrupts
from benchrunner_clusters import Sender, last_line, send_fits
from benchrunner_ray.cluster import connected, described, described_nodes, requested, some_node_has
from benchrunner_ray.settings import RaySettings

GRACE_SECONDS = 30.0
"""Most time for cancelled fits to write their checkpoints, before their workers are killed."""
POLL_SECONDS = 0.5
"""Time between two looks at progress, interrupts and nodes."""


@final
class RayExecutor(Executor):
    """Runs every fit as a task of a Ray cluster. A task whose node is lost runs again on another node."""

    name = "ray"
    about = "as the tasks of a Ray cluster, or of Ray on this machine"

    def __init__(self, settings: RaySettings | None = None) -> None:
        self.settings = settings or RaySettings()

    def configured(self, options: Mapping[str, str]) -> RayExecutor:
        """Return an executor with these settings: the fields of `RaySettings`."""
        return RayExecutor(RaySettings.read(options, "executor option"))

    def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
        """Yield each fit with its record as its task finishes. Finished fits are read, not sent anywhere."""
        return send_fits(fits, runner, lambda mark: self._begun(runner, mark))

    @contextlib.contextmanager
    def _begun(self, runner: FitRunner, mark: str) -> Iterator[_Tasks]:
        with connected(self.settings):
            yield _Tasks(self.settings, runner, mark)


class _Tasks(Sender):
    """The tasks of one study, from submission to their records."""

    def __init__(self, settings: RaySettings, runner: FitRunner, mark: str) -> None:
        super().__init__(runner, mark, cpus=settings.cpus, gpus=settings.gpus, files=settings.files)
        self._settings = settings
        self._running: dict[Any, Fit] = {}  # reference of a task -> its fit
        self._wanted = requested(settings, self.cores, self.gpus)
        self._large_enough_at = time.monotonic()  # when a node that is large enough was last seen

    def run(self, fits: Sequence[Fit]) -> Iterator[tuple[Fit, Record]]:
        """Send all fits and yield them with their records. A fit that is lost is an error once all others are done."""
        import ray

        if not some_node_has(self._wanted):
            raise RequestError(
                f"No node of the Ray cluster has {described(self._wanted)}, which a fit asks for. The nodes: "
                f"{described_nodes(self._wanted)}."
            )
        known, progress = {fit.id: fit for fit in fits}, self._send(fits)
        while self._running:
            with interrupts.HeldBack():
                ready, _ = ray.wait(list(self._running), num_returns=len(self._running), timeout=POLL_SECONDS)
                self._report(known, progress)
                self._check_nodes()
            for reference in ready:
                fit = self._running.pop(reference)
                record = self._record(fit, reference)
                if record is not None:
                    yield fit, record
        if self.lost:
            raise FitError(
                f"{len(self.lost)} of {len(fits)} fits lost their workers {self._settings.retries + 1} times, the "
                f"first: {self.lost[0]}. The other fits are finished; the same command goes on from here."
            )

    def cancel(self) -> None:
        """Cancel all tasks; fits in training have a moment to write their checkpoints."""
        import ray

        references = list(self._running)
        with contextlib.suppress(Exception):  # the cluster may be gone
            for reference in references:
                ray.cancel(reference, force=False)
            _, late = ray.wait(references, num_returns=len(references), timeout=GRACE_SECONDS)
            for reference in late:
                ray.cancel(reference, force=True)

    def _send(self, fits: Sequence[Fit]) -> Any:
        """Submit a task for every fit; return the actor that collects their progress, which stands on this node."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        from benchrunner_ray.worker import Progress, run_fit

        settings = self._settings
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        progress = ray.remote(Progress).options(num_cpus=0, scheduling_strategy=here).remote()
        memory = self._wanted.get("memory")
        task = ray.remote(run_fit).options(
            num_cpus=self.cores, num_gpus=self.gpus, memory=memory, max_retries=settings.retries
        )
        for fit in fits:
            self._running[task.remote(self.order(fit), progress)] = fit
        return progress

    def _record(self, fit: Fit, reference: Any) -> Record | None:
        """Return the record of a finished task; None, and a reason in `lost`, if its workers died."""
        import ray

        try:
            return ray.get(reference).record_in(self.runs)  # type: ignore[no-any-return]
        except (ray.exceptions.RayTaskError, ray.exceptions.RaySystemError) as error:  # the task could not be loaded
            raise FitError(
                f"A worker could not begin the fit {fit.id}: {last_line(error)}. Are benchrunner and the same plugins "
                "installed on every node?"
            ) from None
        except ray.exceptions.RayError as error:
            self.lost.append(f"{fit.id} ({type(error).__name__}, perhaps of too little memory)")
            return None

    def _report(self, known: Mapping[str, Fit], progress: Any) -> None:
        """Report the last event of each fit."""
        import ray

        with contextlib.suppress(ray.exceptions.RayError):  # progress that cannot be shown stops nothing
            for run, event in ray.get(progress.take.remote(), timeout=POLL_SECONDS).items():
                if run in known:  # a baseline that a fit needed is not reported
                    self.runner.report(known[run], event)

    def _check_nodes(self) -> None:
        """Raise a `FitError` if no node is left on which the remaining fits could run."""
        if some_node_has(self._wanted):
            self._large_enough_at = time.monotonic()
        elif time.monotonic() - self._large_enough_at > self._settings.patience_seconds:
            raise FitError(
                f"No node with {described(self._wanted)} is left in the Ray cluster, so {len(self._running)} fits "
                "cannot run. The other fits are finished; the same command goes on from here."
            )
