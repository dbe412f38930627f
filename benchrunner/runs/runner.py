"""The runner: plan fits, run them and predict with them, in one workspace with one set of plugins.

The way of a fit: `Planner.plan` resolves what is asked, `Fitter` loads the rows, checks that nothing changed, lets the
method learn and writes the record; `Predictor` computes outputs for a split, decodes and scores them.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchrunner.backbones.backbone import Backbone
from benchrunner.data.rows import Rows
from benchrunner.fits.computing import Computing
from benchrunner.fits.executor import FitCost
from benchrunner.fits.fit import Fit
from benchrunner.fits.progress import silent
from benchrunner.fits.record import Record
from benchrunner.io.leftovers import remove_whole
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import Recipe
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.fit_cost import fit_cost
from benchrunner.runs.fitter import Fitter
from benchrunner.runs.folder import RunFolder
from benchrunner.runs.observers import Observers, Report
from benchrunner.runs.planner import Planner
from benchrunner.runs.predictor import Predicted, Predictor
from benchrunner.tasks.task import Task
from benchrunner.workspace import Workspace


class Runner:
    """Plans and runs fits, and predicts with them."""

    def __init__(
        self,
        plugins: Plugins,
        workspace: Workspace,
        computing: Computing | None = None,
        *,
        report: Report = silent,
    ) -> None:
        self._observers = Observers(plugins, report)
        self._planner = Planner(plugins, workspace)
        self._fitter = Fitter(self._planner, self._observers, computing or Computing())
        self._predictor = Predictor(self._fitter)

    @property
    def plugins(self) -> Plugins:
        """What the installed plugins offer."""
        return self._planner.plugins

    @property
    def workspace(self) -> Workspace:
        """The folders for data, runs and cache."""
        return self._planner.workspace

    @property
    def computing(self) -> Computing:
        """How fits are computed, as it was asked for: the device may be `auto`."""
        return self._fitter.computing

    def in_runs_folder(self, runs: Path) -> Runner:
        """Return a copy of this runner that reads and writes fits in the folder `runs`."""
        return self._like(dataclasses.replace(self.workspace, runs=runs), self._planner.limit_dev, self._planner.sample)

    def with_dev_limit(self, limit: int | None, sample: str = "first") -> Runner:
        """Return a runner like this one that reads at most `limit` rows of each dev split, or this one if it does.

        Training sees no dev rows, so that fits and their ids stay as they are; predictions of fewer rows have other
        ids. `sample` says which rows, as in a recipe.
        """
        if limit is None:
            sample = "first"
        if (limit, sample) == (self._planner.limit_dev, self._planner.sample):
            return self
        return self._like(self.workspace, limit, sample)

    def _like(self, workspace: Workspace, limit_dev: int | None, sample: str) -> Runner:
        runner = Runner(self.plugins, workspace, self.computing, report=self.report)
        runner._planner.limit_dev, runner._planner.sample = limit_dev, sample
        return runner

    @property
    def device(self) -> str:
        """Name of the device for torch, for example "cuda:0"."""
        return self._fitter.resolved.device

    def precision(self, name: str) -> str:
        """Return the precision that a name means; `auto` is bf16 on GPUs that have bf16 units, and fp32 elsewhere."""
        if name != "auto":
            return name
        from benchrunner.training.machine import resolved_precision

        return resolved_precision(name, self.device)

    @property
    def report(self) -> Report:
        """Callback for progress."""
        return self._observers.report

    def reporting_to(self, report: Report) -> contextlib.AbstractContextManager[None]:
        """Send progress to another callback within a `with` block."""
        return self._observers.reporting_to(report)

    def observe(self, hook: str, **arguments: Any) -> None:
        """Call the observers of a hook, for example `before_study`, with the hook's arguments."""
        self._observers.call(hook, **arguments)

    def plan(
        self, task: Task, backbone: str, *, method: str | None = None, recipe: Recipe | None = None, seed: int = 0
    ) -> Fit:
        """Return the fit of a backbone to a task, with its identity. Nothing runs.

        Without a method or a recipe, those of the task are taken.
        """
        return self._planner.plan(
            task, backbone, method=self.plugins.methods.find(method or task.method), recipe=recipe, seed=seed
        )

    def backbone(self, reference: str) -> Backbone:
        """Return the backbone that a name, path, hub id, `run:ID` or `PREFIX:A,B` means."""
        return self._planner.checked_backbone(reference)[0]

    def rows(self, task: Task, split: str) -> Rows:
        """Load the rows of a split. The last few splits stay in memory."""
        return self._planner.rows(task, split)

    def folder(self, fit: Fit) -> RunFolder:
        """Return the folder of a fit; it need not exist."""
        return self._fitter.folder(fit)

    @property
    def limit_dev(self) -> tuple[int | None, str]:
        """Largest number of rows of each dev split that is read (None: all), and which rows these are."""
        return self._planner.limit_dev, self._planner.sample

    def cost(self, fit: Fit) -> FitCost:
        """Estimate what a fit costs, from the size of its backbone and of its data."""
        return fit_cost(fit, self._planner)

    def workers_can_run(self, fits: Iterable[Fit]) -> bool:
        """Whether processes on this machine find the plugins of the fits, and fits run on a CPU."""
        return self.plugins.are_installed and self.device == "cpu"

    def run(self, fit: Fit, *, weights: bool = False) -> Record:
        """Return the fit's record, and fit first if it is not finished. `weights` asks for the model as well."""
        with self._fitter.locked(fit) as folder:
            return self._fitter.run(fit, folder, weights=weights)

    def finished(self, fit: Fit) -> Record | None:
        """Read the record of a fit; None if the fit must run, because it is not finished or has failed."""
        record = self.folder(fit).record()
        return None if record is None or record.status == "failed" else record

    def predict(self, fit: Fit, split: str, *, settings: Mapping[str, Any] | None = None) -> Predicted:
        """Return the fit's answers to a split, with their scores if the rows have labels. Computed once.

        `settings` replaces the decoding settings that were tuned on dev.
        """
        return self._predictor.predict(fit, split, settings)

    def outputs(self, fit: Fit, rows: Rows) -> Any:
        """Return the fit's raw outputs for rows of its problem. They are kept: a new threshold costs no inference."""
        return self._predictor.outputs(fit, rows)

    def settings(self, fit: Fit) -> Mapping[str, Any]:
        """Return the settings that turn the fit's outputs into answers, tuned on dev where the problem tunes any."""
        return self._predictor.settings(fit)

    def tuned_settings(self, task: Task, folder: RunFolder, outputs: Callable[[Rows], Any]) -> Mapping[str, Any]:
        """Return a problem's decoding settings, tuned on the task's selection splits and kept in a folder."""
        return self._predictor.tuned_settings(task, folder, outputs)

    def baseline(self, fit: Fit, split: str) -> Mapping[str, Score]:
        """Return the scores of the majority of the fit's training rows on a split."""
        return self._predictor.baseline(fit, split)

    def forget(self, fit: Fit) -> None:
        """Remove a fit's folder, with its record and its predictions."""
        with self._fitter.locked(fit) as folder:
            remove_whole(folder.path)

    def forget_weights(self, fit: Fit) -> None:
        """Remove a fit's model; its record and predictions stay."""
        if self.plugins.methods.find(fit.method).needs_backbone and self.folder(fit).model.exists():
            with self._fitter.locked(fit) as folder:
                remove_whole(folder.model)
