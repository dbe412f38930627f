"""Run a study: plan the fits, run those that are not finished, predict dev, select."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from benchrunner.errors import Diverged, FitError, PluginError, RequestError
from benchrunner.fits.executor import Executor
from benchrunner.fits.fit import Fit
from benchrunner.fits.notebook_bar import in_notebook
from benchrunner.fits.progress import watched
from benchrunner.fits.record import Record
from benchrunner.methods.method import Method
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import RECIPE_FIELDS, STEP_FIELDS, Grid, Recipe, is_parameter
from benchrunner.runs.local_executor import Local, executed
from benchrunner.runs.predicting import MAJORITY
from benchrunner.runs.runner import Runner
from benchrunner.studies.comparison.formats import as_html
from benchrunner.studies.kept.keeper import StudyKeeper
from benchrunner.studies.kept.naming import derived_name
from benchrunner.studies.kept.parts import study_json
from benchrunner.studies.kept.predictions import NotedPredictions
from benchrunner.studies.predictions import Predictions
from benchrunner.studies.selection import select
from benchrunner.studies.study import Candidate, Cell, CellResult, Result, Study
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task


def run_study(
    study: Study,
    runner: Runner,
    *,
    executor: Executor | None = None,
    show_progress: bool | None = None,
    keep_as: str | None = None,
    command: Sequence[str] = (),
) -> Result:
    """Run the fits that are not finished, predict dev, and select. `read_study` reads the result again.

    `executor` says where fits run; None is `Local()`: on this machine, on a CPU several at once if that is faster.
    `show_progress` shows a bar with the time left on standard error or in a notebook, and plain lines elsewhere; None
    shows it in notebooks only. The study is kept in the runs folder under `keep_as`, by default a name made of its
    backbones and tasks (`Result.name`).
    `command` are the words of the command line that repeats the study.
    """
    show_progress = in_notebook() if show_progress is None else show_progress
    runner = study.limited(runner)
    cells, request = plan_study(study, runner), study_json(study)
    name = keep_as or derived_name(study.backbones, request["tasks"], request, methods=study.methods)
    keeper = StudyKeeper(runner, name, request, command=command)
    result = run_part(study, cells, runner, keeper, executor=executor, show_progress=show_progress)
    keeper.complete()
    return result


def run_part(
    study: Study,
    cells: Sequence[Cell],
    runner: Runner,
    keeper: StudyKeeper,
    *,
    executor: Executor | None = None,
    show_progress: bool = False,
) -> Result:
    """Run planned cells as a part of the study that `keeper` keeps; the other arguments are those of `run_study`."""
    fits = list({fit.id: fit for cell in cells for fit in cell.fits}.values())
    runner.observers.call("before_study", fits=fits)
    keeper.planned(study, cells)
    weights = [(fit, fit_work(fit, runner)) for fit in fits] if show_progress else []
    predictions = NotedPredictions(runner)
    with watched(runner.observers, weights, show=show_progress) as watch:
        records = run_fits(fits, runner, executor or Local(), predictions, finished=watch.finished)
    results = tuple(select(cell, records, predictions) for cell in cells)
    _prune(study, results, runner)
    majority = _majority(study, cells, runner)
    result = Result(
        study, results, _baseline(study, majority, predictions), name=keeper.name, runner=runner, html=as_html
    )
    keeper.finished(result, predictions.ids, majority)
    selected = [cell.selected for cell in results if cell.selected is not None]
    runner.observers.call("after_study", fits=fits, records=records, selected=selected)
    return result


def plan_study(study: Study, runner: Runner) -> tuple[Cell, ...]:
    """Plan every fit of a study. Bad data of any split is found here, before hours of fitting."""
    cells, runner = [], study.limited(runner)
    for task in study.tasks:
        for split in (task.train, *task.named("dev")):
            runner.planner.rows(task, split)
        tests = study.tests_of(task)
        for split in tests:
            rows = runner.planner.rows(task, split)
            if task.problem.gold(rows.table) is None:
                raise RequestError(
                    f"{task.name} cannot be scored on {split}: {rows.origin} has no labels. Leave --split {split} out."
                )
        for backbone in study.backbones:
            for chosen, name in study.names_of(backbone).items():
                method = runner.plugins.methods.find(chosen or task.method)
                candidates = _candidates(study, task, backbone, method, runner)
                cells.append(Cell(name, task, candidates, study.selection, tests))
    return tuple(cells)


def _candidates(study: Study, task: Task, backbone: str, method: Method, runner: Runner) -> tuple[Candidate, ...]:
    """Plan the fits of a backbone to a task with one method."""
    candidates, (points, seeds) = [], grid_and_seeds(study, task, method)
    for recipe in points:
        fits = (runner.planner.plan(task, backbone, method=method.name, recipe=recipe, seed=seed) for seed in seeds)
        candidates.append(Candidate(recipe, tuple(fits)))
    return tuple(candidates)


def grid_and_seeds(study: Study, task: Task, method: Method) -> tuple[list[Recipe], tuple[int, ...]]:
    """Return the recipes and the seeds of the fits of a task; each recipe has a fit for each seed."""
    preset = {} if study.preset is None else study.preset.values_for(task.name)
    base = task.recipe.changed(**method.recipe_defaults).changed(**preset).changed(**study.changes)
    choices = {name: values for name, values in study.grid.choices.items() if _is_read(name, method, task)}
    if not method.needs_backbone:  # only its own parameters make a difference
        own = {name: values for name, values in choices.items() if is_parameter(name)}
        return list(Grid(own).points(base)), study.seeds[:1]
    if not method.trains_in_steps:
        base = base.changed(**{name: getattr(Recipe(), name) for name in STEP_FIELDS})
    return list(Grid(choices).points(base)), study.seeds


def _is_read(name: str, method: Method, task: Task) -> bool:
    """Return whether a field of a grid changes the fits of a task with a method."""
    if is_parameter(name):
        return name.rpartition(".")[0] == method.name
    return not RECIPE_FIELDS[name].read_by or name in method.fields_read(task.problem)


def run_fits(
    fits: Iterable[Fit],
    runner: Runner,
    executor: Executor,
    predictions: Predictions,
    *,
    finished: Callable[[Fit, float | None], None] = lambda fit, seconds: None,
) -> dict[str, Record]:
    """Run every different fit once and predict its dev splits while its weights exist; return fit id -> record.

    `finished` is called after each fit, with the seconds of its record.
    """
    fits_by_id, records = {fit.id: fit for fit in fits}, dict[str, Record]()
    for fit, record in executed(executor, list(fits_by_id.values()), runner):
        finished(fit, record.timings.get("seconds") if record.status == "done" else None)
        splits = runner.plugins.tasks.find(fit.task).named("dev")
        records[fit.id] = record if record.status != "done" else _predicted(fit, splits, record, predictions)
    if lost := len(fits_by_id.keys() - records.keys()):
        raise PluginError(f"The executor '{executor.name}' gave no record of {lost} of {len(fits_by_id)} fits.")
    return records


def _predicted(fit: Fit, splits: Iterable[str], record: Record, predictions: Predictions) -> Record:
    """Predict dev; if that fails, return a record that says so, so that the study goes on."""
    try:
        for split in splits:
            predictions.predict(fit, split)
    except (FitError, RequestError) as error:  # for example, its max_length is too short for a question of dev
        return replace(record, status="diverged" if isinstance(error, Diverged) else "failed", reason=str(error))
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


def _majority(study: Study, cells: Sequence[Cell], runner: Runner) -> Mapping[str, Fit]:
    """Plan the fit of the majority answer of each task: its training rows are those of the task's first grid point."""
    recipes = {cell.task.name: cell.candidates[0].recipe for cell in reversed(cells)}
    return {
        task.name: runner.planner.plan(task, "", method=MAJORITY, recipe=recipes[task.name]) for task in study.tasks
    }


def _baseline(study: Study, majority: Mapping[str, Fit], predictions: Predictions) -> Mapping[Term, Score]:
    """Score the majority answer of the training rows on every split that is scored."""
    baseline = {}
    for task in study.tasks:
        for split in study.scored_splits(task):
            for name, score in predictions.predict(majority[task.name], split).record.scores.items():
                baseline[Term(task.name, split, name)] = score
    return baseline


def fit_work(fit: Fit, runner: Runner) -> float:
    """Estimate a fit's share of a study's work: rows read while learning, next to nothing if nothing is learned."""
    method = runner.plugins.methods.find(fit.method)
    return rows_read(runner.plugins.tasks.find(fit.task), method, fit.recipe, runner) or 0.001


def rows_read(task: Task, method: Method, recipe: Recipe, runner: Runner) -> int:
    """Count the training rows that a fit reads, each once in every epoch; 0 for a method that learns nothing.

    A method without steps reads each row once.
    """
    if not method.needs_backbone:
        return 0
    rows = len(runner.planner.rows(task, task.train))
    return min(rows, recipe.limit_train or rows) * (recipe.epochs if method.trains_in_steps else 1)
