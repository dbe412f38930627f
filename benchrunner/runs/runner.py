"""Run fits: check that the plan is still valid, let the method learn, and write the record.

The way of a fit: `Planner.plan` resolves what is asked, `Runner.run` loads the rows, checks that nothing changed, lets
the method learn and writes the record; `predict` computes outputs for a split, decodes and scores them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import Any

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.console.printing import print_note, printable
from benchrunner.data.rows import Rows
from benchrunner.errors import BenchrunnerError, Diverged, FitError, RequestError, described
from benchrunner.fits.computing import Computing
from benchrunner.fits.executor import FitRunner
from benchrunner.fits.fit import Fit, Record
from benchrunner.fits.progress import Event, quiet_report
from benchrunner.io.decoding import from_json
from benchrunner.io.files import full_disk, remove_leftovers, remove_whole
from benchrunner.io.json_form import as_json
from benchrunner.io.locks import held_if_free, is_read_only
from benchrunner.io.messages import quoted
from benchrunner.io.seals import folder_checksums
from benchrunner.methods.method import Job, Method, Outcome, Team
from benchrunner.plugin_code import PluginFailure, guarded
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.finished_fits import FinishedFit, find_backbone, maker, reference_to, saved
from benchrunner.runs.folder import RunFolder
from benchrunner.runs.planner import Planner
from benchrunner.training.feature_cache import Cache
from benchrunner.workspace import Workspace

Report = Callable[[Fit, Event], None]
"""Callback for progress."""


class Observers:
    """The progress callback of a runner and the observer hooks of the plugins."""

    def __init__(self, plugins: Plugins, report: Report) -> None:
        self.report = report
        self._plugins = plugins
        self._warned: set[tuple[str, str]] = set()

    @contextlib.contextmanager
    def reporting_to(self, report: Report) -> Iterator[None]:
        """Send progress to another callback within the `with` block."""
        before, self.report = self.report, report
        try:
            yield
        finally:
            self.report = before

    def progress(self, fit: Fit, event: Event) -> None:
        """Report one event of a fit to the callback and to every `on_progress` hook."""
        self.report(fit, event)
        self.call("on_progress", fit=fit, event=event)

    def call(self, hook: str, **arguments: Any) -> None:
        """Call the observers of one hook with copies. An observer that fails is reported once and stops nothing.

        Only a `RequestError` of `before_study` is raised, when nothing has run yet: the user asked for what cannot be.
        """
        for observer in getattr(self._plugins.hook, hook).get_hookimpls():
            try:
                with guarded():
                    observer.function(*[_copied(arguments[name]) for name in observer.argnames])
            except (BenchrunnerError, OSError) as error:
                if hook == "before_study" and isinstance(error, RequestError):
                    raise
                place = (hook, observer.plugin_name)
                if place not in self._warned:
                    self._warned.add(place)
                    text = str(error) if isinstance(error, PluginFailure) else described(error)
                    print_note(f"The observer {hook} of plugin '{observer.plugin_name}' failed: {text}")


def _copied(value: Any) -> Any:
    """Copy a value for an observer; errors, of which some cannot be copied, are given as they are."""
    return value if isinstance(value, BaseException) else deepcopy(value)


class Runner:
    """Runs fits in one workspace with one set of plugins; its `planner` plans them."""

    def __init__(
        self,
        plugins: Plugins,
        workspace: Workspace,
        computing: Computing | None = None,
        *,
        report: Report = quiet_report,
    ) -> None:
        self.plugins = plugins
        """What the installed plugins offer."""
        self.workspace = workspace
        """The folders for data, runs and cache."""
        self.computing = computing or Computing()
        """How fits are computed, as it was asked for: the device may be `auto`."""
        self.planner = Planner(plugins, workspace)
        """Plans fits and loads rows."""
        self.observers = Observers(plugins, report)
        """Those who are told what happens during fits."""

    @cached_property
    def resolved(self) -> Computing:
        """How fits are computed, on a device that torch has."""
        if self.computing.devices > 1 and self.plugins.team is None:
            raise RequestError("--devices-per-fit comes with the plugin 'devices'.")
        return self.computing.resolved()

    @property
    def fit_runner(self) -> FitRunner:
        """What an executor needs to run fits as this runner does."""
        return FitRunner(
            workspace=self.workspace,
            computing=self.computing,
            report=self.observers.report,
            run=self.run,
            cost=self.planner.cost,
            has_installed_plugins=self.plugins.are_installed,
        )

    def precision(self, name: str) -> str:
        """Return the precision that a name means; `auto` is bf16 on devices that compute it themselves, else fp32."""
        if name != "auto":
            return name
        from benchrunner.training.precision import usual_precision

        return usual_precision(self.resolved.device)

    def in_workspace(self, workspace: Workspace) -> Runner:
        """Return a runner like this one in another workspace; this runner itself if it is in this workspace."""
        if workspace == self.workspace:
            return self
        return Runner(self.plugins, workspace, self.computing, report=self.observers.report)

    def folder(self, fit: Fit) -> RunFolder:
        """Return the folder of a fit; it need not exist."""
        return RunFolder(self.workspace.runs, fit.id)

    @contextlib.contextmanager
    def locked(self, fit: Fit) -> Iterator[RunFolder]:
        """Lock a fit's folder while this process fits, reads the weights or removes them."""
        folder = self.folder(fit)
        waiting = Event("waiting", text=f"another process runs {fit.id}")
        with folder.locked(lambda: self.observers.progress(fit, waiting)):
            yield folder

    def run(self, fit: Fit, *, weights: bool = False) -> Record:
        """Return the fit's record, and fit first if it is not finished.

        `weights` asks for the model as well, which may have been removed.
        """
        with self.locked(fit) as folder:
            return self._run(fit, folder, weights=weights)

    def finished_fit(self, folder: RunFolder) -> Fit:
        """Return the fit of a finished run. If its weights were not kept, it is fitted again."""
        record, fit = folder.record(), folder.fit()
        if record is None:
            raise RequestError(f"The fit {folder.path.name} is not finished. Repeat the command that started it.")
        if record.status != "done":
            raise RequestError(
                f"The fit {folder.path.name} {record.status}: {record.reason.rstrip('.')}. Choose another of "
                "'benchrunner runs list'."
            )
        if not folder.model.exists() and not self.workspace.settings.needs_workers:  # workers fit again themselves
            self.run(fit, weights=True)
        return fit

    def forget_weights(self, fit: Fit) -> None:
        """Remove a fit's model; its record and predictions stay."""
        folder = self.folder(fit)
        if not self.plugins.methods.find(fit.method).needs_backbone:
            return
        if folder.model.exists():
            with self.locked(fit):
                remove_whole(folder.model)
        elif any(folder.path.glob(".*.part")) and not is_read_only(folder.path):
            # A process may have been killed while it removed the model.
            with held_if_free(folder.path) as is_free:
                if is_free:
                    remove_leftovers(folder.path)

    def _run(self, fit: Fit, folder: RunFolder, *, weights: bool) -> Record:
        """Return the fit's record; run the fit first if it is not finished. The caller must hold the folder's lock."""
        if fit.folds and weights:
            raise RequestError(fit.no_model)
        record = folder.finished_record()
        if record is not None:
            if record.status == "diverged" or folder.model.exists() or not weights:
                return record
            self.observers.progress(fit, Event("note", text=f"{fit.weights_gone}, so it is fitted again"))
        return self._cross_validated(fit, folder) if fit.folds else self._fit(fit, folder)

    def _cross_validated(self, fit: Fit, folder: RunFolder) -> Record:
        """Run the fits of all folds, and write the record of a fit that consists of them."""
        folder.keep_fit(fit)
        report = self.observers.report
        seconds = list[float]()

        def tell(_: Fit, event: Event) -> None:
            done = event.done + len(seconds) * event.total
            report(fit, replace(event, done=done, total=event.total * fit.folds))

        with self.observers.reporting_to(tell):
            for training in self.planner.trainings(fit):
                record = self.run(training)
                seconds.append(record.timings["seconds"])
                if record.status != "done":
                    break
        notes = (
            *record.notes,
            f"cross-validated: each row is answered by one of {fit.folds} fits, which has not seen it, and all answers "
            "are scored together; no fit has learned from all rows, and none is kept",
        )
        record = replace(record, id=fit.id, timings={"seconds": sum(seconds)}, work={}, checksums={}, notes=notes)
        folder.keep_record(record)
        return record

    def _fit(self, fit: Fit, folder: RunFolder) -> Record:
        """Write the fit to its folder, run the method, and write the record."""
        method = self.plugins.methods.find(fit.method)
        job = self._prepare(fit, folder, method)
        started = time.monotonic()
        try:
            with guarded():
                outcome = method.fit(job)
                if not isinstance(outcome, Outcome):
                    raise FitError(f"The method '{method.name}' returned {quoted(outcome)}, not an Outcome.")
                outcome = from_json(Outcome, as_json(outcome), f"The outcome of the method '{method.name}'", FitError)
        except (BenchrunnerError, OSError) as failure:  # a plugin's method may fail in any way; the study goes on
            return self._failed(fit, folder, failure, seconds=time.monotonic() - started)
        assert job.train is not None
        record = Record(
            fit.id,
            outcome.status,
            outcome.reason,
            timings={**outcome.timings, "seconds": time.monotonic() - started},
            work=outcome.work,
            numerics=outcome.numerics,
            checksums=folder_checksums(folder.model) if outcome.status == "done" else {},
            notes=(*job.train.notes, *outcome.notes),
        )
        folder.keep_record(record)
        shutil.rmtree(folder.checkpoint, ignore_errors=True)
        self.observers.call("after_fit", fit=fit, record=record)
        return record

    def _failed(self, fit: Fit, folder: RunFolder, failure: BenchrunnerError | OSError, *, seconds: float) -> Record:
        """Write the record of a fit that failed. A full disk is raised: every further fit would fail, after hours."""
        error = getattr(failure, "raised", failure)  # of a PluginFailure
        if number := full_disk(error):
            raise OSError(number, os.strerror(number), str(folder.path)) from error
        is_ours = isinstance(error, BenchrunnerError)
        reason = printable(str(error)) if is_ours else folder.keep_traceback(error, self.plugins)
        is_diverged = isinstance(error, Diverged)
        record = Record(fit.id, "diverged" if is_diverged else "failed", reason, timings={"seconds": seconds})
        folder.keep_record(record)
        self.observers.call("on_fit_error", fit=fit, error=error)
        return record

    def take_part(self, fit: Fit, team: Team) -> None:
        """Let the method learn as one of the processes of a team. Nothing is written to the fit's folder."""
        method = self.plugins.methods.find(fit.method)
        job, _ = self._learning_job(fit, self.folder(fit), method)
        method.fit(replace(job, team=team, report=lambda event: None))

    def _prepare(self, fit: Fit, folder: RunFolder, method: Method) -> Job:
        """Check that nothing changed since planning, write the fit to its folder, and return the method's job."""
        job, family = self._learning_job(fit, folder, method)
        folder.sweep()
        folder.keep_fit(fit)
        if fit.shorter:
            folder.take_over(RunFolder(self.workspace.runs, fit.shorter))
        if family is not None:
            folder.keep_family(maker(family, self.plugins))
        return job

    def _learning_job(self, fit: Fit, folder: RunFolder, method: Method) -> tuple[Job, BackboneFamily | None]:
        """Return the job of a method that learns, and the backbone's family; check that nothing changed meanwhile."""
        self.planner.check_unchanged(fit)
        rows = self.planner.training_rows(self.plugins.tasks.find(fit.task), fit.recipe, fit.seed)
        backbone, family = None, None
        if method.needs_backbone:
            backbone, family = find_backbone(fit.backbone, self.plugins, self.workspace)
        return self._job(fit, folder, fit.suppliers, backbone=backbone, train=rows), family

    def prediction_job(self, fit: Fit, folder: RunFolder) -> Job:
        """Return the job with which a method predicts; fit first if there are no weights. The caller holds the lock.

        Raises a `FitError` if the fit failed or diverged.
        """
        record = self._run(fit, folder, weights=True)
        if record.status != "done":
            raise FitError(f"The fit {fit.id} ({fit.task}, {fit.backbone}) has no answers: {record.reason}")
        folder.check_model(record)
        task = self.plugins.tasks.find(fit.task)
        method = self.plugins.methods.find(fit.method)
        backbone, family = None, None
        if method.needs_backbone:
            backbone, family = saved(folder, self.plugins, self.workspace)
        return self._job(fit, folder, self.planner.suppliers(task, method, family), backbone=backbone)

    def _job(
        self,
        fit: Fit,
        folder: RunFolder,
        suppliers: Mapping[str, str],
        *,
        backbone: Backbone | None,
        train: Rows | None = None,
    ) -> Job:
        method = self.plugins.methods.find(fit.method)
        head = None
        if isinstance(backbone, FinishedFit) and backbone.hands_on(fit, method):
            head = backbone.folder.model
        computing = Computing("cpu")
        kernels = None
        if backbone is not None and not method.given_answers:
            computing = self.resolved
            make_current(computing.device)
            if computing.kernels and computing.device == "cpu":
                kernels = self.plugins.kernels
        return Job(
            fit=fit,
            problem=self.plugins.tasks.find(fit.task).problem,
            workspace=self.workspace,
            cache=Cache(self.workspace.cache),
            computing=computing,
            model=folder.model,
            checkpoint=folder.checkpoint,
            log=folder.log,
            last_state=folder.state if fit.leaves_state else None,
            report=lambda event: self.observers.progress(fit, event),
            train=train,
            backbone=backbone,
            code=suppliers,
            head=head,
            reference=None if train is None or backbone is None else reference_to(fit, method, self.plugins),
            parameters=method.parameter_values(fit.recipe),
            kernels=kernels,
            team=None if computing.on_cpu_alone else self.plugins.team,
        )


def make_current(device: str) -> None:
    """Make a GPU that is named by its number the current GPU of this process.

    Memory for transfers, and libraries that know only the current GPU, would otherwise take memory of the first GPU.
    cuBLAS gets a workspace of fixed size: without it, cuBLAS may add up numbers in a different order each time when
    cuDNN computes an LSTM.
    """
    import torch

    place = torch.device(device)
    if place.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if place.type == "cuda" and place.index is not None:
        torch.cuda.set_device(place)
