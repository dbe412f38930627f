"""Run a study: build its backbones, run the fits that are not finished, predict dev, select."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, final

from benchrunner.errors import PluginError, RequestError
from benchrunner.fits.cost import Cost
from benchrunner.fits.executor import Executor
from benchrunner.fits.fit import Fit, Record
from benchrunner.fits.progress import in_notebook, watched
from benchrunner.metrics import Score
from benchrunner.plugin_code import guarded
from benchrunner.plugins.discovery import discover
from benchrunner.runs.local_executor import Local, executed
from benchrunner.runs.predicting import MAJORITY
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Cell, CellResult, different_fits, selected_fit
from benchrunner.studies.kept.keeper import StudyKeeper
from benchrunner.studies.kept.kept_results import read_study
from benchrunner.studies.other_figures import other_figures
from benchrunner.studies.planning import finished_cells, linked, planned, prepare, search_of
from benchrunner.studies.predictions import NotedPredictions
from benchrunner.studies.result import Result
from benchrunner.studies.selection import select
from benchrunner.studies.study import Study
from benchrunner.studies.study_options import StudyOptions
from benchrunner.tasks.task import Term
from benchrunner.workspace import Workspace


def compare(
    backbones: Sequence[str] | Mapping[str, str],
    tasks: Sequence[str],
    *,
    data: Path | str | None = None,
    runs: Path | str | None = None,
    **options: Any,
) -> Result:
    """Fit backbones, or backbones by the names of their systems, to tasks, and return the result of `run_study`.

    `data` and `runs` are the folders of data files and of fits, by default those of the environment. `options` are
    those of `StudyOptions` and of its recipe, such as `restarts=3`, `method=("probe",)` and `lr=(2e-5, 5e-5)`.
    """
    plugins = discover()
    runner = Runner(
        plugins, Workspace.from_environment(data=Path(data) if data else None, runs=Path(runs) if runs else None)
    )
    chosen = StudyOptions.named(options, {}, plugins)
    return run_study(chosen.study(backbones, plugins.tasks_of(tasks), runner), runner)


def run_study(
    study: Study,
    runner: Runner,
    *,
    executor: Executor | None = None,
    show_progress: bool | None = None,
    keep_as: str | None = None,
    command: Sequence[str] = (),
    with_costs: bool = False,
    limit: Any = None,
) -> Result:
    """Run the fits that are not finished, predict dev, select, and return what `read_study` reads.

    Everything is checked before the first backbone is built or fitted. `executor` says where fits run; None is
    `Local()`: on this machine, on a CPU several at once if that is faster. `show_progress` shows a bar with the time
    left on standard error or in a notebook, and plain lines elsewhere; None shows it in notebooks only. The study is
    kept in the runs folder under `keep_as`, by default a name made of what is compared (`Result.name`), with `command`,
    the words of the command line that repeats the study. `with_costs` lets a plugin measure what the systems cost;
    otherwise the result has the costs that were measured before.
    `limit` is a value of `StudySearch.limit`: with the plugin 'search', what all fits may cost, such as "40fits".
    """
    choose = search_of(runner.plugins).chooser(study, runner, limit)
    if with_costs and not runner.plugins.hook.measure_costs.get_hookimpls():
        raise RequestError("No plugin measures costs (--cost): the plugin 'speed' does.")
    show = in_notebook() if show_progress is None else show_progress
    runner = study.reading(runner)
    prepare(study, runner, show=show)
    keeper = StudyKeeper(runner, keep_as, study, command=command)
    run = _Run(runner, keeper, executor or Local(), show)
    result: Result | None = None
    for asked in (study.stages, study.cells):
        planned = run.planned(asked, result)
        while cells := choose(planned, result):
            result = run.wave(cells)
        run.forget_states()
    keeper.complete(other_figures(study, result.cells if result else ()))
    if with_costs:
        keeper.measured(_measured(read_study(keeper.name, runner), runner, show=show))
    return read_study(keeper.name, runner)


def _measured(result: Result, runner: Runner, *, show: bool) -> list[Cost]:
    """Let plugins measure what the systems of a result cost."""
    fits = dict[str, list[Fit]]()
    records = dict[str, Record]()
    for cell in result.cells:
        for fit in cell.cell.fits:
            fits.setdefault(cell.cell.system, []).append(fit)
            if record := runner.folder(fit).record():
                records[fit.id] = record
    with guarded("Measuring costs"):
        parts = runner.plugins.hook.measure_costs(
            fits=fits, records=records, workspace=runner.workspace, computing=runner.resolved, show_progress=show
        )
        return [cost for part in parts for cost in part]


@final
class _Run:
    """Runs the fits of a study in waves, each of which is chosen by what the waves before found."""

    def __init__(self, runner: Runner, keeper: StudyKeeper, executor: Executor, show: bool) -> None:
        self._runner = runner
        self._keeper = keeper
        self._executor = executor
        self._show = show
        self._records = dict[str, Record]()
        self._predictions = NotedPredictions(runner)
        self._baseline = dict[Term, Score]()
        self._planned = list[Cell]()

    def planned(self, asked: Iterable[Cell], result: Result | None) -> list[Cell]:
        """Plan cells, whose fits start from the selected fits of first tasks."""
        finished = finished_cells(result)
        cells = []
        for cell in asked:
            first = finished.get((cell.system, ()))
            if first and not cell.skips_first:
                cell = replace(cell, backbone=f"run:{selected_fit(first).id}")
            cells.append(planned(cell, self._runner))
        if cells:
            self._runner.observers.call("before_study", fits=different_fits(cells))
        self._planned = cells
        return cells

    def wave(self, cells: Sequence[Cell]) -> Result:
        """Run the fits of some cells that have not run, select, and return the result of the study so far."""
        self._keeper.planned(cells)
        self._run(cells)
        results = [select(cell, self._records, self._predictions, runner=self._runner) for cell in cells]
        self._score_majority(cells)
        self._keeper.finished(results, self._predictions.ids, self._baseline)
        result = read_study(self._keeper.name, self._runner)
        _prune(result.cells, different_fits(cells), self._runner)
        return result

    def _run(self, cells: Sequence[Cell]) -> None:
        """Run fits, predict their dev splits while their weights exist, and note their records."""
        runner, records = self._runner, self._records
        links = linked([*cells, *self._planned])
        fits = [links[fit.id] for fit in different_fits(cells) if fit.id not in records]
        # of a search that tries some points, only what it asked for is known
        foreseen = [cell for cell in self._planned if not cell.fitting.most_points]
        weights = [
            (fit, runner.planner.cost(fit, links.get(links[fit.id].shorter)).flops or 1.0)
            for fit in different_fits([*cells, *foreseen])
            if self._show and fit.id not in records
        ]
        with watched(runner.observers, weights, show=self._show) as watch:
            for fit, record in executed(self._executor, fits, runner) if fits else ():  # none: other cells had them
                watch.finished(fit)
                records[fit.id] = self._predictions.with_dev(fit, record)
        if lost := sum(fit.id not in records for fit in fits):
            raise PluginError(f"The executor '{self._executor.name}' gave no record of {lost} of {len(fits)} fits.")

    def forget_states(self) -> None:
        """Remove the states from which longer fits went on."""
        for fit in different_fits(cell for cell in self._planned if cell.fitting.keep != "all"):
            self._runner.folder(fit).forget_state()

    def _score_majority(self, cells: Iterable[Cell]) -> None:
        """Score the majority answer on every split that is scored.

        It learns from the training rows of the task's first grid point, of those with most rows.
        """
        majority = {}
        for cell in sorted(cells, key=lambda cell: cell.candidates[0].rows or 0, reverse=True):
            task = cell.task
            if task.only_scored:
                continue
            if task.name not in majority:
                recipe = cell.candidates[0].recipe
                majority[task.name] = self._runner.planner.plan(task, "", method=MAJORITY, recipe=recipe)
            for split in cell.scored_splits:
                scores = self._predictions.predict(majority[task.name], split).record.scores
                for name, score in scores.items():
                    self._baseline.setdefault(Term(task.name, split, name), score)


def _prune(results: Iterable[CellResult], fits: Iterable[Fit], runner: Runner) -> None:
    """Remove the weights of fits that no cell keeps."""
    kept = set[str]()
    for result in results:
        keep = result.cell.fitting.keep
        if keep == "all" or (keep == "selected" and _may_choose_again(result.cell, runner)):
            kept.update(fit.id for fit in result.cell.fits)
        elif keep == "selected" and result.selected:
            kept.add(result.selected.id)
    for fit in fits:
        if fit.id not in kept:
            runner.forget_weights(fit)


def _may_choose_again(cell: Cell, runner: Runner) -> bool:
    """Return whether a fit failed: the same command fits it again, and may then select any other fit of its cell."""
    return any(runner.folder(fit).finished_record() is None for fit in cell.fits)
