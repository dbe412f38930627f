"""Run a study: build its backbones, run the fits that are not finished, predict dev, select."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import final

from benchrunner.console.printing import print_note
from benchrunner.errors import Diverged, FitError, PluginError, RequestError
from benchrunner.fits.executor import Executor
from benchrunner.fits.fit import Fit, Record
from benchrunner.fits.progress import Watch, in_notebook, watched
from benchrunner.metrics import Score
from benchrunner.runs.local_executor import Local, executed
from benchrunner.runs.predicting import MAJORITY
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Cell, CellResult, LimitedRunners, selected_fit
from benchrunner.studies.comparison.formats import as_html
from benchrunner.studies.kept.keeper import StudyKeeper
from benchrunner.studies.kept.naming import derived_name
from benchrunner.studies.kept.noted_predictions import KeptPredictions, NotedPredictions
from benchrunner.studies.other_figures import other_figures
from benchrunner.studies.planning import check_data, fit_work, naming, planned
from benchrunner.studies.result import Result
from benchrunner.studies.selection import select
from benchrunner.studies.study import Study, System
from benchrunner.studies.submissions.submit_commands import submit_commands
from benchrunner.studies.system_commands import PROGRAM, estimate_command, run_command
from benchrunner.tasks.task import Term


def run_study(
    study: Study,
    runner: Runner,
    *,
    executor: Executor | None = None,
    show_progress: bool | None = None,
    keep_as: str | None = None,
    command: Sequence[str] = (),
    program: Sequence[str] = PROGRAM,
) -> Result:
    """Run the fits that are not finished, predict dev, and select. `read_study` reads the result again.

    Everything is checked before the first backbone is built or fitted. `executor` says where fits run; None is
    `Local()`: on this machine, on a CPU several at once if that is faster. `show_progress` shows a bar with the time
    left on standard error or in a notebook, and plain lines elsewhere; None shows it in notebooks only. The study is
    kept in the runs folder under `keep_as`, by default a name made of what is compared (`Result.name`), with `command`,
    the words of the command line that repeats the study. `program` runs the commands that build backbones.
    """
    show = in_notebook() if show_progress is None else show_progress
    runners = LimitedRunners(runner)
    _check(study, runners, program)
    _build(study, runner, program, show=show)
    keeper = StudyKeeper(runner, keep_as or derived_name(study), study, command=command)
    run, fitted = _Run(runners, keeper, executor or Local(), show), dict[str, str]()
    for first in run.wave([planned(cell, runners.of(cell.fitting)) for cell in study.stages]):
        fitted[first.cell.system] = f"run:{selected_fit(first).id}"
    started = [replace(cell, backbone=fitted.get(cell.system, cell.backbone)) for cell in study.cells]
    run.wave([planned(cell, runners.of(cell.fitting)) for cell in started])
    others = other_figures(study, run.results)
    submissions = submit_commands(study, run.results, others, runner)
    keeper.complete(others, submissions)
    return Result(study, tuple(run.results), run.baseline, keeper.name, runner, others, submissions, html=as_html)


def _check(study: Study, runners: LimitedRunners, program: Sequence[str]) -> None:
    """Raise a `RequestError` for data, commands and backbones that are not there."""
    runner = runners.runner
    check_data(study, (*study.cells, *study.stages), runners)
    for words, system in study.commands.items():
        with naming(f"{study.name}, system {system}"):
            estimate_command(words, runner.workspace, program=program, study=study.path)
    _check_backbones(study, runner, before_commands=True)


def _build(study: Study, runner: Runner, program: Sequence[str], *, show: bool) -> None:
    """Run the commands that build the study's backbones."""
    if not study.commands:
        return
    runner.observers.call("before_study", fits=())  # the fits are not known yet; a refusal must not come after hours
    for number, (words, system) in enumerate(study.commands.items(), start=1):
        if show:
            print_note(f"{number} of {len(study.commands)}, {system}: benchrunner {shlex.join(words)}")
        run_command(words, runner.workspace, program=program, show_output=show, study=study.path)
    _check_backbones(study, runner)


def _check_backbones(study: Study, runner: Runner, *, before_commands: bool = False) -> None:
    systems = {system.name: system for system in study.systems}
    for cell in (*study.cells, *study.stages):
        system = systems.get(cell.system)
        if system is None or not runner.plugins.methods.find(cell.method or cell.task.method).needs_backbone:
            continue
        with naming(f"{study.name}, system {cell.system}" if study.name else ""):
            for backbone in _existing(system, study, runner) if before_commands else [system.backbone]:
                runner.planner.backbone(backbone)
        del systems[cell.system]  # its other cells have the same backbone


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
    """Runs the fits of a study in waves: those of first tasks, then those of the columns."""

    def __init__(self, runners: LimitedRunners, keeper: StudyKeeper, executor: Executor, show: bool) -> None:
        self._runners, self._keeper, self._executor, self._show = runners, keeper, executor, show
        self.results = list[CellResult]()
        self.baseline = dict[Term, Score]()

    def wave(self, cells: Iterable[Cell]) -> list[CellResult]:
        """Run planned cells, those that are scored on the same rows of dev together; return their results."""
        groups = dict[tuple[int | None, str], list[Cell]]()
        for cell in cells:
            groups.setdefault(cell.fitting.dev_rows, []).append(cell)
        results = [result for group in groups.values() for result in self._group(group)]
        self.results += results
        return results

    def _group(self, cells: Sequence[Cell]) -> list[CellResult]:
        runner = self._runners.of(cells[0].fitting)
        fits = list({fit.id: fit for cell in cells for fit in cell.fits}.values())
        runner.observers.call("before_study", fits=fits)
        self._keeper.planned(cells)
        weights = [(fit, fit_work(fit, runner)) for fit in fits] if self._show else []
        predictions = NotedPredictions(runner)
        with watched(runner.observers, weights, show=self._show) as watch:
            records = _run_fits(fits, runner, self._executor, predictions, watch)
        results = [select(cell, records, predictions, runner=runner) for cell in cells]
        _prune([*self.results, *results], fits, runner)
        majority = _majority(cells, runner)
        for term, score in _baseline(cells, majority, predictions).items():
            self.baseline.setdefault(term, score)
        self._keeper.finished(results, predictions.ids, majority)
        selected = [result.selected for result in results if result.selected is not None]
        runner.observers.call("after_study", fits=fits, records=records, selected=selected)
        kept = KeptPredictions(runner, predictions.ids)
        return [replace(result, predictions=kept) for result in results]


def _run_fits(
    fits: Sequence[Fit], runner: Runner, executor: Executor, predictions: NotedPredictions, watch: Watch
) -> dict[str, Record]:
    """Run fits and predict their dev splits while their weights exist; return fit id -> record."""
    records = dict[str, Record]()
    for fit, record in executed(executor, fits, runner):
        watch.finished(fit, record.timings.get("seconds") if record.status == "done" else None)
        splits = runner.plugins.tasks.find(fit.task).named("dev")
        records[fit.id] = record if record.status != "done" else _predicted(fit, splits, record, predictions)
    if lost := len(fits) - len(records):
        raise PluginError(f"The executor '{executor.name}' gave no record of {lost} of {len(fits)} fits.")
    return records


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
        if result.cell.fitting.keep == "all":
            kept.update(fit.id for fit in result.cell.fits)
        elif result.cell.fitting.keep == "selected" and result.selected is not None:
            kept.add(result.selected.id)
    for fit in fits:
        if fit.id not in kept:
            runner.forget_weights(fit)


def _majority(cells: Iterable[Cell], runner: Runner) -> dict[str, Fit]:
    """Plan the fit of the majority answer of each task: its training rows are those of the task's first grid point."""
    majority = dict[str, Fit]()
    for cell in cells:
        if cell.task.name not in majority:
            recipe = cell.candidates[0].recipe
            majority[cell.task.name] = runner.planner.plan(cell.task, "", method=MAJORITY, recipe=recipe)
    return majority


def _baseline(cells: Iterable[Cell], majority: Mapping[str, Fit], predictions: NotedPredictions) -> dict[Term, Score]:
    """Score the majority answer of the training rows on every split that is scored."""
    baseline = dict[Term, Score]()
    for cell in cells:
        for split in cell.scored_splits:
            scores = predictions.predict(majority[cell.task.name], split).record.scores
            for name, score in scores.items():
                baseline[Term(cell.task.name, split, name)] = score
    return baseline
