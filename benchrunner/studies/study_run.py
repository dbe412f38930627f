"""Run a study: plan the fits, run those that are not finished, predict dev, select."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from benchrunner.errors import FitError, PluginError, RequestError
from benchrunner.executor import Executor
from benchrunner.fits import Fit
from benchrunner.methods.method import Method
from benchrunner.metrics import Score
from benchrunner.progress import watched
from benchrunner.recipes import Recipe
from benchrunner.records import Record
from benchrunner.runs.executors import Local
from benchrunner.runs.predictor import MAJORITY
from benchrunner.runs.runner import Runner
from benchrunner.studies.selection import select
from benchrunner.studies.study import Candidate, Cell, CellResult, Result, Study
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task


def run_study(
    study: Study,
    runner: Runner,
    *,
    executor: Executor | None = None,
    cells: Sequence[Cell] | None = None,
    show_progress: bool = False,
) -> Result:
    """Run the fits that are not finished, predict dev, and select.

    `executor` says where fits run; None means one after another in this process. `cells` is the result of `plan_study`
    if the caller has planned the study already. `show_progress` shows a bar with the time left on standard error, or
    plain lines if standard error is not a terminal.
    """
    cells = plan_study(study, runner) if cells is None else cells
    fits = list({fit.id: fit for cell in cells for fit in cell.fits}.values())
    weights = [(fit, fit_work(fit, runner)) for fit in fits] if show_progress else []
    with watched(runner, weights, show=show_progress) as watch:
        records = run_fits(fits, runner, executor or Local(), finished=watch.finished)
    results = tuple(select(cell, records, runner) for cell in cells)
    _prune(study, results, runner)
    return Result(study, results, _baseline(study, cells, runner))


def plan_study(study: Study, runner: Runner) -> tuple[Cell, ...]:
    """Plan every fit of a study. Bad data of any split is found here, before hours of fitting."""
    cells = []
    for task in study.tasks:
        for split in (task.train, *task.named("dev")):
            runner.rows(task, split)
        method = runner.plugins.method(study.method or task.method)
        points, seeds = grid_and_seeds(study, task, method)
        for backbone in study.backbones:
            candidates = []
            for recipe in points:
                fits = (runner.plan(task, backbone, method=method.name, recipe=recipe, seed=seed) for seed in seeds)
                candidates.append(Candidate(recipe, tuple(fits)))
            cells.append(Cell(backbone, task, tuple(candidates), study.selection))
    return tuple(cells)


def grid_and_seeds(study: Study, task: Task, method: Method) -> tuple[list[Recipe], tuple[int, ...]]:
    """Return the recipes and the seeds of the fits of a task; each recipe has a fit for each seed."""
    base = task.recipe.changed(**method.recipe_defaults).changed(**study.changes)
    if not method.needs_backbone:  # nothing is learned, so recipes and seeds make no difference
        return [base], study.seeds[:1]
    return list(study.grid.points(base)), study.seeds


def run_fits(
    fits: Iterable[Fit], runner: Runner, executor: Executor, *, finished: Callable[[Fit], None] = lambda fit: None
) -> dict[str, Record]:
    """Run every different fit once and predict its dev splits while its weights exist; return fit id -> record.

    `finished` is called after each fit.
    """
    fits_by_id, records = {fit.id: fit for fit in fits}, dict[str, Record]()
    for fit, record in executor.run(list(fits_by_id.values()), runner):
        finished(fit)
        records[fit.id] = record if record.status != "done" else _predicted(fit, record, runner)
    if lost := len(fits_by_id.keys() - records.keys()):
        raise PluginError(f"The executor '{executor.name}' gave no record of {lost} of {len(fits_by_id)} fits.")
    return records


def _predicted(fit: Fit, record: Record, runner: Runner) -> Record:
    """Predict dev; if that fails, return a record with the status failed, so that the study goes on."""
    try:
        for split in runner.plugins.task(fit.task).named("dev"):
            runner.predict(fit, split)
    except (FitError, RequestError) as error:  # for example, its max_length is too short for a question of dev
        return replace(record, status="failed", reason=str(error))
    return record


def _prune(study: Study, results: Iterable[CellResult], runner: Runner) -> None:
    """Remove the weights of fits that `study.keep` does not keep."""
    if study.keep == "all":
        return
    kept = {result.selected.id for result in results if result.selected is not None and study.keep == "selected"}
    for result in results:
        for fit in result.cell.fits:
            if fit.id not in kept:
                runner.forget_weights(fit)


def _baseline(study: Study, cells: Sequence[Cell], runner: Runner) -> Mapping[Term, Score]:
    """Score the majority answer of the training rows on every dev split."""
    baseline = {}
    for task in study.tasks:
        cell = next(cell for cell in cells if cell.task.name == task.name)
        fit = runner.plan(task, "", method=MAJORITY, recipe=cell.candidates[0].recipe)
        for split in task.named("dev"):
            for name, score in runner.predict(fit, split).record.scores.items():
                baseline[Term(task.name, split, name)] = score
    return baseline


def fit_work(fit: Fit, runner: Runner) -> float:
    """Estimate a fit's share of a study's work: rows read while learning, next to nothing if nothing is learned."""
    method = runner.plugins.method(fit.method)
    return rows_read(runner.plugins.task(fit.task), method, fit.recipe, runner) or 0.001


def rows_read(task: Task, method: Method, recipe: Recipe, runner: Runner) -> int:
    """Count the training rows that a fit reads, each once in every epoch; 0 for a method that learns nothing."""
    if not method.needs_backbone:
        return 0
    rows = len(runner.rows(task, task.train))
    return min(rows, recipe.limit_train or rows) * recipe.epochs
