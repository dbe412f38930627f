"""Run a study: build its backbones, run the fits that are not finished, predict dev, select."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, final

from benchrunner.errors import Diverged, FitError, PluginError, RequestError, first_line
from benchrunner.fits.cost import Cost
from benchrunner.fits.executor import Executor
from benchrunner.fits.fit import Fit, Record
from benchrunner.fits.progress import in_notebook, watched
from benchrunner.metrics import Score
from benchrunner.plugin_code import guarded
from benchrunner.runs.ensembles import answer_together
from benchrunner.runs.local_executor import Local, executed
from benchrunner.runs.predicting import MAJORITY
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Cell, CellResult, Figure, different_fits, selected_fit
from benchrunner.studies.kept.keeper import StudyKeeper, derived_name
from benchrunner.studies.kept.kept_results import read_study
from benchrunner.studies.kept.noted_predictions import NotedPredictions
from benchrunner.studies.planning import check_data, finished_cells, linked, naming, planned, search_of
from benchrunner.studies.result import Result
from benchrunner.studies.selection import select
from benchrunner.studies.study import Place, Study, System
from benchrunner.tasks.task import Term
from benchrunner.training import step_log

LOG_DECIMALS = 2
"""Digits after the point of figures of logs, such as losses."""


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
    _build(study, runner, show=show)
    keeper = StudyKeeper(runner, keep_as or derived_name(study), study, command=command)
    run = _Run(runner, keeper, executor or Local(), show)
    result: Result | None = None
    for asked in (study.stages, study.cells):
        planned = run.planned(asked, result)
        while cells := choose(planned, result):
            result = run.wave(cells)
        run.forget_states()
    keeper.complete(_other_figures(study, result.cells if result else ()))
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
    measure = runner.plugins.hook.measure_costs
    with guarded("Measuring costs"):
        parts = measure(
            fits=fits, records=records, workspace=runner.workspace, computing=runner.resolved, show_progress=show
        )
        return [cost for part in parts for cost in part]


def _build(study: Study, runner: Runner, *, show: bool) -> None:
    """Check that data, commands and backbones are there, then let plugins build the study's backbones."""
    check_data(study, runner)
    builders: list[Callable[[bool], None]] = runner.plugins.hook.prepare_study(study=study, runner=runner)
    if study.commands and not builders:
        raise RequestError(f"{study.name}: no plugin builds its backbones: the plugin 'studies' does.")
    _check_backbones(study, runner, before_commands=True)
    if builders:
        runner.observers.call("before_study", fits=())  # they are not known yet; a refusal must not come after hours
        for build in builders:
            build(show)
        _check_backbones(study, runner)


def _check_backbones(study: Study, runner: Runner, *, before_commands: bool = False) -> None:
    systems = {system.name: system for system in study.systems}
    for cell in (*study.cells, *study.stages):
        method = runner.plugins.methods.find(cell.method or cell.task.method)
        if cell.system not in systems or not method.needs_backbone:
            continue
        system = systems.pop(cell.system)  # its other cells have the same backbone
        with naming(f"{study.name}, system {cell.system}" if study.name else ""):
            backbones = _existing(system, study, runner) if before_commands else [system.backbone]
            for backbone in backbones:
                runner.planner.backbone(backbone)


def _existing(system: System, study: Study, runner: Runner) -> list[str]:
    """Name the backbones of a system that must exist before any command runs.

    This is the system's backbone, unless commands build it. If commands build parts of a combination, these are its
    other parts.
    """
    if system.make:
        return []
    built = {builder.backbone for builder in study.systems if builder.make}
    parts = runner.plugins.backbone_search.part_names(system.backbone)
    existing = [part for part in parts if part not in built]
    return existing if len(existing) < len(parts) else [system.backbone]


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
        weights = []
        for fit in different_fits([*cells, *foreseen]) if self._show else ():
            if fit.id not in records:
                weights.append((fit, runner.planner.cost(fit, links.get(links[fit.id].shorter)).flops or 1.0))
        with watched(runner.observers, weights, show=self._show) as watch:
            for fit, record in executed(self._executor, fits, runner) if fits else ():  # none: other cells had them
                watch.finished(fit)
                splits = runner.plugins.tasks.find(fit.task).named("dev")
                if record.status == "done":
                    record = _predicted(fit, splits, record, self._predictions)
                records[fit.id] = record
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
            if task.name not in majority:
                recipe = cell.candidates[0].recipe
                majority[task.name] = self._runner.planner.plan(task, "", method=MAJORITY, recipe=recipe)
            for split in cell.scored_splits:
                scores = self._predictions.predict(majority[task.name], split).record.scores
                for name, score in scores.items():
                    self._baseline.setdefault(Term(task.name, split, name), score)


def _predicted(fit: Fit, splits: Iterable[str], record: Record, predictions: NotedPredictions) -> Record:
    """Predict dev; if that fails, return a record that says so, so that the study goes on."""
    try:
        for split in splits:
            predictions.predict(fit, split)
    except (FitError, RequestError) as error:  # for example, its max_length is too short for a question of dev
        return replace(record, status="diverged" if isinstance(error, Diverged) else "failed", reason=str(error))
    return record


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


def _other_figures(study: Study, cells: Iterable[CellResult]) -> dict[Place, Figure]:
    """Compute the figures that do not follow from the scores of fits: of ensembles, and of logs."""
    systems = {system.name: system for system in study.systems}
    columns = {column.name: column for column in study.columns}
    figures = {}
    for result in cells:
        cell = result.cell
        if systems[cell.system].ensemble:
            for name in cell.columns:
                figures[cell.system, name] = _of_ensemble(result, columns[name].term(cell.task))
    for column in study.columns:
        if column.figure:
            for system in study.systems:
                figures[system.name, column.name] = _of_log(system, column.figure)
    return figures


def _of_ensemble(cell: CellResult, term: Term) -> Figure:
    """Return the figure of a task's metric if the finished restarts of the chosen grid point answer together."""
    task, members, runner = cell.cell.task, cell.restarts, cell.runner
    if not members or runner is None:
        return Figure.absent("no fit finished")
    try:
        together = answer_together(members, task, runner.planner.rows(task, term.split), runner)
    except (FitError, RequestError) as error:
        return Figure.absent(first_line(error))
    score = together.scores[term.metric]
    if score.value is None:
        return Figure.absent(score.reason)
    metric = task.metric(term.metric)
    ids = tuple(fit.id for fit in members)
    return replace(Figure.single(score.value), scale=metric.scale, members=ids, lower_is_better=metric.lower_is_better)


def _of_log(system: System, key: str) -> Figure:
    """Return the figure of the log that building a system leaves: the last line with the key counts."""
    if system.figures is None:
        return Figure.absent("the study names no log of this system")
    if not system.figures.is_file():
        return Figure.absent(f"there is no file {system.figures}")
    figure = None
    for line in step_log.read(system.figures):
        if type(line.get(key)) in (int, float):
            figure = float(line[key])
    if figure is None:
        return Figure.absent(f"{system.figures} has no '{key}'")
    return replace(Figure.single(figure), decimals=LOG_DECIMALS)
