"""Results read from the runs folder: of kept studies, and of runs that are named one by one.

Nothing is fitted or predicted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from benchrunner.errors import RequestError, UnknownName
from benchrunner.fits.fit import Fit, Record
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import Recipe
from benchrunner.runs.folder import RunFolder, find_run
from benchrunner.runs.predicting import majority_fits
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Candidate, Cell, CellResult, Fitting
from benchrunner.studies.comparison.formats import as_page
from benchrunner.studies.kept.kept_study import find_study
from benchrunner.studies.predictions import KeptPredictions
from benchrunner.studies.result import Result
from benchrunner.studies.selection import select
from benchrunner.studies.study import Study, named_by_method
from benchrunner.studies.study_building import compared
from benchrunner.tasks.task import Task, Term

System = tuple[str, str]
"""Backbone and method of runs."""


def read_study(name: str, runner: Runner) -> Result:
    """Rebuild the result of a kept study from its file and the run folders. Nothing is fitted or predicted.

    Needs the plugins of the study's tasks, but neither data nor backbones. Selection runs again on the kept
    predictions. Rows of data are read from the folder that the study was run with, if it is still there and the
    runner's workspace names none. A study that is not complete has the fits that are finished by now; a fit that is not
    finished, or whose folder was removed, has no scores, and `CellResult.lost` gives the reason.
    """
    kept = find_study(runner.workspace.runs, name)
    if runner.workspace.data is None and kept.data is not None and kept.data.is_dir():
        runner = runner.in_workspace(replace(runner.workspace, data=kept.data))
    runner = kept.study.reading(runner)
    cells = []
    stages = []
    results = []
    for kept_cell in kept.cells:
        cell = kept_cell.rebuilt(runner.plugins)
        if cell.columns:
            cells.append(cell)
        else:
            stages.append(cell)
        if kept_cell.candidates:
            first = kept_cell.candidates[0].fits[0]  # its backbone is empty if the method needs none
            planned = replace(cell, candidates=kept_cell.candidates, backbone=first.backbone or cell.backbone)
            kept_answers = KeptPredictions(runner, kept_cell.predictions, kept_cell.failed_predictions)
            results.append(_cell_result(planned, kept_answers, runner, kept_cell.lost))
    return Result(
        replace(kept.study, cells=tuple(cells), stages=tuple(stages)),
        tuple(results),
        dict(kept.baseline),
        name,
        runner,
        others=kept.others,
        submissions=kept.submit_commands(runner.plugins),
        costs=kept.costs,
        html=as_page,
    )


def result_of_runs(ids: Sequence[str], runner: Runner) -> Result:
    """Group finished runs into backbones x tasks, with grid points and restarts, from their folders alone.

    `ids` are ids of runs, beginnings of ids, or folders in the runs folder. Runs that differ only in the seed are
    restarts of one grid point. If a backbone was fitted by several methods, each method is a system of its own in the
    result, named `BACKBONE (METHOD)`. Scores are those of the kept predictions; nothing is fitted or predicted.
    """
    fits = {}
    for reference in ids:
        fit = _fit(reference, runner)
        fits[fit.id] = fit
    if not fits:
        raise RequestError("Name at least one run.")
    names = _names(fits.values())
    study = _study(names, fits.values(), runner)
    predictions = KeptPredictions(runner)
    results = []
    for cell in study.cells:
        own = [
            fit
            for fit in fits.values()
            if fit.task == cell.task.name and names[fit.backbone, fit.method] == cell.system
        ]
        if own:
            cell = replace(cell, candidates=_candidates(own), backbone=own[0].backbone, method=own[0].method)
            results.append(_cell_result(cell, predictions, runner, {}))
    data = {fit.data for fit in fits.values()}
    majority = {fit.task: fit for fit in majority_fits(runner.workspace.runs) if fit.data in data}
    baseline: dict[Term, Score] = {}
    for task in study.tasks:
        baseline |= _majority_scores(task, majority.get(task.name), predictions)
    return Result(study, tuple(results), baseline, runner=runner, html=as_page)


def _cell_result(
    cell: Cell, predictions: KeptPredictions, runner: Runner, lost: Mapping[str, tuple[str, str]]
) -> CellResult:
    """Select among the fits of a cell by their kept records and predictions.

    `lost` maps the id of each fit without scores to its status and the reason.
    """
    records = {}
    for fit in cell.fits:
        record = runner.folder(fit).record()
        if fit.id in lost:
            status, reason = lost[fit.id]
            notes = record.notes if record is not None else ()
            records[fit.id] = Record(fit.id, "diverged" if status == "diverged" else "failed", reason, notes=notes)
        elif record is None:
            records[fit.id] = Record(fit.id, "failed", "the run is not finished, or was removed")
        else:
            records[fit.id] = _with_predictions(fit, record, cell.task, predictions)
    return select(cell, records, predictions, runner=runner)


def _with_predictions(fit: Fit, record: Record, task: Task, predictions: KeptPredictions) -> Record:
    """Return the record of a fit; its status is failed if a prediction of dev is not kept."""
    if record.status == "done":
        for split in task.named("dev"):
            if not predictions.has(fit, split):
                reason = f"its prediction of {split} is not computed yet, or was removed"
                return replace(record, status="failed", reason=reason)
    return record


def _majority_scores(task: Task, fit: Fit | None, predictions: KeptPredictions) -> dict[Term, Score]:
    """Return the scores of the fit of the majority answer on dev; absent ones where its predictions are not kept."""
    absent = Score(None, "no run of the majority answer is kept")
    scored = {}
    for split in task.named("dev"):
        scores: Mapping[str, Score] = {metric.name: absent for metric in task.metrics}
        if fit is not None and predictions.has(fit, split):
            scores = predictions.predict(fit, split).record.scores  # none where the rows have no labels
        for name, score in scores.items():
            scored[Term(task.name, split, name)] = score
    return scored


def _fit(reference: str, runner: Runner) -> Fit:
    """Read the fit of a run in the runs folder."""
    runs = runner.workspace.runs
    name = reference.removeprefix("run:")
    is_id = "/" not in name and (runs / name / "fit.json").is_file()
    folder = RunFolder(runs, name) if is_id else find_run(runs, name)
    if folder.path.parent.resolve() != runs.resolve():
        raise RequestError(f"{folder.path} is not in the runs folder {runs}: name its runs folder with --runs DIR.")
    return folder.fit()


def _names(fits: Iterable[Fit]) -> dict[System, str]:
    """Name each system; one name holds the method only if its backbone was fitted by several methods."""
    systems = list(dict.fromkeys((fit.backbone, fit.method) for fit in fits))
    backbones = [backbone for backbone, _ in systems]
    names = {}
    for backbone, method in systems:
        has_one_method = backbones.count(backbone) == 1
        names[backbone, method] = (backbone or method) if has_one_method else named_by_method(backbone, method)
    return names


def _study(names: Mapping[System, str], fits: Iterable[Fit], runner: Runner) -> Study:
    """Make the study of named runs; the methods are the tasks' own unless all runs are of another one."""
    tasks = {}
    seeds = set()
    methods = set()
    for fit in fits:
        tasks[fit.task] = runner.plugins.tasks.find(fit.task)
        seeds.add(fit.seed)
        methods.add(fit.method)
    systems = list(dict.fromkeys(names.values()))
    study = compared(systems, list(tasks.values()), Fitting(seeds=tuple(sorted(seeds)), keep="all"))
    own_methods = {task.method for task in tasks.values()}
    if len(methods) > 1 or methods == own_methods:
        return study
    (method,) = methods
    return replace(study, systems=tuple(replace(system, method=method) for system in study.systems))


def _candidates(fits: Iterable[Fit]) -> tuple[Candidate, ...]:
    """Group fits into grid points, each with its restarts in the order of their seeds."""
    points = dict[Recipe, list[Fit]]()
    for fit in sorted(fits, key=lambda fit: fit.seed):
        points.setdefault(fit.recipe, []).append(fit)
    return tuple(Candidate(recipe, tuple(restarts), recipe.limit_train) for recipe, restarts in points.items())


def result_named(words: Sequence[str], runner: Runner) -> Result:
    """Read the kept study that one word names, or the result of the runs that the words name."""
    if len(words) > 1:
        return result_of_runs(words, runner)
    try:
        return read_study(words[0], runner)
    except UnknownName as unknown:
        try:
            return result_of_runs(words, runner)
        except UnknownName:
            raise unknown from None
