"""Results of finished runs that are named one by one, without a study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from benchrunner.studies.comparison.formats import as_html
from benchrunner.studies.kept.parts import kept_cell_result
from benchrunner.studies.kept.predictions import KeptPredictions, PredictionIds
from benchrunner.studies.study import Candidate, Cell, Result, Study, named_by_method
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task

Group = tuple[str, str, str]
"""Backbone, method and task of runs."""


def result_of_runs(ids: Sequence[str], runner: Runner) -> Result:
    """Group finished runs into backbones x tasks, with grid points and restarts, from their folders alone.

    `ids` are ids of runs, beginnings of ids, or folders in the runs folder. Runs that differ only in the seed are
    restarts of one grid point. If a backbone was fitted by several methods, each method is a backbone of its own in the
    result, named `BACKBONE (METHOD)`. Scores are those of the kept predictions; nothing is fitted or predicted.
    """
    fits = list({fit.id: fit for fit in (_fit(reference, runner) for reference in ids)}.values())
    if not fits:
        raise RequestError("Name at least one run.")
    groups: dict[Group, list[Fit]] = {}
    for fit in fits:
        groups.setdefault((fit.backbone, fit.method, fit.task), []).append(fit)
    names = _backbone_names(groups)
    tasks = tuple(runner.plugins.tasks.find(task) for task in dict.fromkeys(fit.task for fit in fits))
    seeds = tuple(sorted({fit.seed for fit in fits}))
    study = Study(tuple(dict.fromkeys(names.values())), tasks, seeds=seeds, methods=_method(fits, tasks), keep="all")
    predictions = KeptPredictions(runner, PredictionIds())
    cells = [
        Cell(names[backbone, method], runner.plugins.tasks.find(task), _candidates(group))
        for (backbone, method, task), group in groups.items()
    ]
    results = tuple(kept_cell_result(cell, predictions, runner, lost={}) for cell in cells)
    baseline = dict(_baseline(study, fits, predictions, runner))
    return Result(study, results, baseline, runner=runner, predictions=predictions, html=as_html)


def _fit(reference: str, runner: Runner) -> Fit:
    runs = runner.workspace.runs
    name = reference.removeprefix("run:")
    folder = RunFolder(runs, name) if "/" not in name and (runs / name / "fit.json").is_file() else find_run(runs, name)
    if folder.path.parent.resolve() != runs.resolve():
        raise RequestError(f"{folder.path} is not in the runs folder {runs}: give its folder as --runs DIR.")
    return folder.fit()


def _backbone_names(groups: Iterable[Group]) -> dict[tuple[str, str], str]:
    """Map backbone and method to the name in the result."""
    methods: dict[str, dict[str, None]] = {}
    for backbone, method, _ in groups:
        methods.setdefault(backbone, {})[method] = None
    return {
        (backbone, method): (backbone or method) if len(used) == 1 else named_by_method(backbone, method)
        for backbone, used in methods.items()
        for method in used
    }


def _method(fits: Iterable[Fit], tasks: Iterable[Task]) -> tuple[str, ...]:
    """Return the method of a study of these fits; nothing if each task has its own, or if there are several."""
    methods, own = {fit.method for fit in fits}, {task.method for task in tasks}
    return tuple(methods) if len(methods) == 1 and methods != own else ()


def _candidates(fits: Sequence[Fit]) -> tuple[Candidate, ...]:
    """Group fits into grid points, each with its restarts in the order of their seeds."""
    points: dict[Recipe, list[Fit]] = {}
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
