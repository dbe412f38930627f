"""Results of finished runs that are named one by one, without a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.io.decoding import from_json
from benchrunner.io.files import read_regular_file
from benchrunner.io.json_files import JSON_LIMIT
from benchrunner.io.seals import read_sealed
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import Recipe
from benchrunner.runs.folder import RunFolder, find_run
from benchrunner.runs.predicting import MAJORITY
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Candidate, CellResult
from benchrunner.studies.comparison.formats import as_html
from benchrunner.studies.kept.kept_result import kept_cell_result
from benchrunner.studies.kept.noted_predictions import KeptPredictions, PredictionIds
from benchrunner.studies.result import Result
from benchrunner.studies.study import Study, compared, named_by_method
from benchrunner.tasks.task import Term

Group = tuple[str, str, str]
"""Backbone, method and task of runs."""


def result_of_runs(ids: Sequence[str], runner: Runner) -> Result:
    """Group finished runs into backbones x tasks, with grid points and restarts, from their folders alone.

    `ids` are ids of runs, beginnings of ids, or folders in the runs folder. Runs that differ only in the seed are
    restarts of one grid point. If a backbone was fitted by several methods, each method is a system of its own in the
    result, named `BACKBONE (METHOD)`. Scores are those of the kept predictions; nothing is fitted or predicted.
    """
    found = [_fit(reference, runner) for reference in ids]
    fits = list({fit.id: fit for fit in found}.values())
    if not fits:
        raise RequestError("Name at least one run.")
    groups = dict[Group, list[Fit]]()
    for fit in fits:
        groups.setdefault((fit.backbone, fit.method, fit.task), []).append(fit)
    study = _study(groups, fits, runner)
    predictions, results = KeptPredictions(runner, PredictionIds()), list[CellResult]()
    cells = {(cell.system, cell.task.name): cell for cell in study.cells}
    names = _names(groups)
    for (backbone, method, task), group in groups.items():
        asked = cells[names[backbone, method], task]
        cell = replace(asked, candidates=_candidates(group), backbone=backbone, method=method)
        results.append(kept_cell_result(cell, predictions, runner, {}))
    baseline = dict(_baseline(study, fits, predictions, runner))
    return Result(study, tuple(results), baseline, runner=runner, html=as_html)


def _study(groups: Iterable[Group], fits: Sequence[Fit], runner: Runner) -> Study:
    """Make the study of groups of runs; the methods are the tasks' own unless all runs are of another one."""
    names = _names(groups)
    task_names = dict.fromkeys(task for _, _, task in groups)
    tasks = [runner.plugins.tasks.find(name) for name in task_names]
    seeds, methods = tuple(sorted({fit.seed for fit in fits})), {fit.method for fit in fits}
    study = compared(list(dict.fromkeys(names.values())), tasks, seeds=seeds, keep="all")
    method = methods.pop() if len(methods) == 1 and methods != {task.method for task in tasks} else None
    return replace(study, systems=tuple(replace(system, method=method) for system in study.systems))


def _fit(reference: str, runner: Runner) -> Fit:
    runs = runner.workspace.runs
    name = reference.removeprefix("run:")
    folder = RunFolder(runs, name) if "/" not in name and (runs / name / "fit.json").is_file() else find_run(runs, name)
    if folder.path.parent.resolve() != runs.resolve():
        raise RequestError(f"{folder.path} is not in the runs folder {runs}: give its folder as --runs DIR.")
    return folder.fit()


def _names(groups: Iterable[Group]) -> dict[tuple[str, str], str]:
    """Map backbone and method to the name of the system."""
    methods = dict[str, dict[str, None]]()
    for backbone, method, _ in groups:
        methods.setdefault(backbone, {})[method] = None
    names = dict[tuple[str, str], str]()
    for backbone, used in methods.items():
        for method in used:
            names[backbone, method] = (backbone or method) if len(used) == 1 else named_by_method(backbone, method)
    return names


def _candidates(fits: Sequence[Fit]) -> tuple[Candidate, ...]:
    """Group fits into grid points, each with its restarts in the order of their seeds."""
    points = dict[Recipe, list[Fit]]()
    for fit in sorted(fits, key=lambda fit: fit.seed):
        points.setdefault(fit.recipe, []).append(fit)
    return tuple(Candidate(recipe, tuple(restarts)) for recipe, restarts in points.items())


def _baseline(
    study: Study, fits: Iterable[Fit], predictions: KeptPredictions, runner: Runner
) -> Iterator[tuple[Term, Score]]:
    """Yield the scores of the majority answer on every dev split, if a run of it on the same rows is kept."""
    data = {fit.data for fit in fits}
    majority = {fit.task: fit for fit in majority_fits(runner.workspace.runs) if fit.data in data}
    for task in study.tasks:
        for split in task.named("dev"):
            scores: Mapping[str, Score] = {}
            if task.name in majority and predictions.has(majority[task.name], split):
                scores = predictions.predict(majority[task.name], split).record.scores
            absent = Score(None, "no run of the majority answer is kept")
            for metric in task.metrics:
                yield Term(task.name, split, metric.name), scores.get(metric.name, absent)


def majority_fits(runs: Path) -> Iterator[Fit]:
    """Yield the fits of majority answers in a runs folder; damaged folders are left out."""
    for path in sorted(runs.glob("*/fit.json")):
        try:
            if f'"{MAJORITY}"'.encode() not in read_regular_file(path, JSON_LIMIT):
                continue
            fit = from_json(Fit, read_sealed(path, ""), path)
        except (OSError, RequestError):
            continue
        if fit.method == MAJORITY:
            yield fit
