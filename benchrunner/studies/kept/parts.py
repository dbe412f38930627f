"""Parts of kept studies: a `Study` with its planned cells and their outcome, to and from JSON values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchrunner.fits.fit import Fit
from benchrunner.fits.record import Record
from benchrunner.io.decoding import as_json, from_json
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import Grid, NamedRecipe, Recipe
from benchrunner.runs.folder import RunFolder
from benchrunner.runs.runner import Runner
from benchrunner.studies.comparison.formats import as_html
from benchrunner.studies.kept.predictions import KeptPredictions, Key, PredictionIds
from benchrunner.studies.selection import select
from benchrunner.studies.study import Candidate, Cell, CellResult, Result, Selection, Study
from benchrunner.tasks.suites import Term

Part = dict[str, Any]
"""A `Study` with its cells as JSON values: what one `run_study` ran."""


def study_json(study: Study) -> dict[str, Any]:
    """Return the fields of a study as JSON values, with the names of its tasks."""
    preset = {} if study.preset is None else {"preset": as_json(study.preset)}
    return {
        "backbones": list(study.backbones),
        "tasks": [task.name for task in study.tasks],
        "grid": {name: list(values) for name, values in study.grid.choices.items()},
        "seeds": list(study.seeds),
        "changes": dict(study.changes),
        **preset,
        "methods": list(study.methods),
        "keep": study.keep,
        "selection": dataclasses.asdict(study.selection),
        **({"tests": list(study.tests)} if study.tests else {}),
        **({} if study.limit_dev is None else {"limit_dev": study.limit_dev}),
    }


def planned_part(study: Study, cells: Iterable[Cell]) -> Part:
    """Return a study with its planned fits as JSON values, before any of the fits runs."""
    return {
        "study": study_json(study),
        "cells": [
            {
                "backbone": cell.backbone,
                "task": cell.task.name,
                "selection": dataclasses.asdict(cell.selection),
                "tests": list(cell.tests),
                "candidates": [
                    {"recipe": point.recipe.as_dict(), "fits": [_fit_json(fit) for fit in point.fits]}
                    for point in cell.candidates
                ],
            }
            for cell in cells
        ],
    }


def _fit_json(fit: Fit) -> dict[str, Any]:
    return {"id": fit.id, **as_json(fit)}


def finished_part(part: Part, result: Result, ids: PredictionIds, majority: Mapping[str, Fit]) -> Part:
    """Return a planned part with its outcome: selected fits, lost fits, and ids of predictions.

    `majority` maps the name of each task to the fit of its majority answer.
    """
    cells = [
        {
            **planned,
            "selected": cell.selected.id if cell.selected is not None else None,
            "lost": {fit: list(reason.partition(": ")[::2]) for fit, reason in cell.lost.items()},
            "predictions": _by_fit(ids.found, cell.cell),
            "failed_predictions": _by_fit(ids.failed, cell.cell),
        }
        for planned, cell in zip(part["cells"], result.cells, strict=True)
    ]
    baseline = {task: {"fit": fit.id, "predictions": _of_fit(ids.found, fit)} for task, fit in majority.items()}
    return {**part, "cells": cells, "majority": baseline}


def _by_fit(values: Mapping[Key, str], cell: Cell) -> dict[str, dict[str, str]]:
    """Map each fit of a cell to its values by split; leave out fits without values."""
    splits = (*cell.task.named("dev"), *cell.tests)
    by_fit = {
        fit.id: {split: values[fit.id, fit.task, split] for split in splits if (fit.id, fit.task, split) in values}
        for fit in cell.fits
    }
    return {fit: of_splits for fit, of_splits in by_fit.items() if of_splits}


def _of_fit(values: Mapping[Key, str], fit: Fit) -> dict[str, str]:
    return {split: value for (fit_id, task, split), value in values.items() if (fit_id, task) == (fit.id, fit.task)}


def _by_key(by_fit: Mapping[str, Mapping[str, str]], task: str) -> dict[Key, str]:
    return {(fit, task, split): value for fit, of_splits in by_fit.items() for split, value in of_splits.items()}


def part_result(part: Part, runner: Runner, name: str) -> Result:
    """Rebuild the result of a part from the run folders: selection runs again on the kept predictions.

    A fit that is not finished, or whose folder was removed, has no scores; `CellResult.lost` gives the reason.
    """
    study = _study(part["study"], runner)
    runner = study.limited(runner)
    predictions = KeptPredictions(runner, _prediction_ids(part))
    results = tuple(
        kept_cell_result(_cell(cell, runner), predictions, runner, lost=cell.get("lost", {})) for cell in part["cells"]
    )
    baseline = dict(_baseline(part, study, runner))
    return Result(study, results, baseline, name=name, runner=runner, predictions=predictions, html=as_html)


def _prediction_ids(part: Part) -> PredictionIds:
    """Return the predictions from which the cells of a part were scored."""
    ids = PredictionIds()
    for cell in part["cells"]:
        ids.found.update(_by_key(cell.get("predictions", {}), cell["task"]))
        ids.failed.update(_by_key(cell.get("failed_predictions", {}), cell["task"]))
    return ids


def _study(kept: Mapping[str, Any], runner: Runner) -> Study:
    return Study(
        backbones=tuple(kept["backbones"]),
        tasks=tuple(runner.plugins.tasks.find(task) for task in kept["tasks"]),
        grid=Grid({name: tuple(values) for name, values in kept["grid"].items()}),
        seeds=tuple(kept["seeds"]),
        changes=dict(kept["changes"]),
        preset=from_json(NamedRecipe, kept["preset"], "preset") if "preset" in kept else None,
        methods=tuple(kept["methods"]),
        keep=kept["keep"],
        selection=Selection(**kept["selection"]),
        tests=tuple(kept.get("tests", ())),
        limit_dev=kept.get("limit_dev"),
    )


def _cell(kept: Mapping[str, Any], runner: Runner) -> Cell:
    candidates = tuple(
        Candidate(Recipe.from_json(point["recipe"]), tuple(_fit(fit) for fit in point["fits"]))
        for point in kept["candidates"]
    )
    selection = Selection(**kept["selection"])
    return Cell(kept["backbone"], runner.plugins.tasks.find(kept["task"]), candidates, selection, tuple(kept["tests"]))


def _fit(kept: Mapping[str, Any]) -> Fit:
    return from_json(Fit, {name: value for name, value in kept.items() if name != "id"}, "fit")


def kept_cell_result(
    cell: Cell, predictions: KeptPredictions, runner: Runner, *, lost: Mapping[str, Sequence[str]]
) -> CellResult:
    """Select among the fits of a cell by their kept records and predictions.

    `lost` maps the id of each fit without scores to its status and the reason.
    """
    records = {fit.id: _record(fit, cell, predictions, lost, runner) for fit in cell.fits}
    return select(cell, records, predictions)


def _record(
    fit: Fit, cell: Cell, predictions: KeptPredictions, lost: Mapping[str, Sequence[str]], runner: Runner
) -> Record:
    """Return the record of a fit; its status is failed if the study cannot read the fit or its predictions of dev."""
    record = RunFolder(runner.workspace.runs, fit.id).record()
    if fit.id in lost:
        status, reason = lost[fit.id]
        notes = record.notes if record is not None else ()
        return Record(fit.id, "diverged" if status == "diverged" else "failed", reason, notes=notes)
    if record is None:
        return Record(fit.id, "failed", "the run is not finished, or was removed")
    for split in cell.task.named("dev") if record.status == "done" else ():
        if not predictions.has(fit, split):
            reason = f"its prediction of {split} is not computed yet, or was removed"
            return replace(record, status="failed", reason=reason)
    return record


def _baseline(part: Part, study: Study, runner: Runner) -> Iterator[tuple[Term, Score]]:
    """Yield the scores of the majority answer on every scored split; absent ones if its run was removed."""
    for task in study.tasks:
        kept = part.get("majority", {}).get(task.name, {"fit": "", "predictions": {}})
        folder = RunFolder(runner.workspace.runs, kept["fit"])
        for split in study.scored_splits(task):
            record = folder.prediction_record(kept["predictions"].get(split, "")) if kept["fit"] else None
            absent = Score(None, "the run of the majority answer was removed, or is not finished")
            for metric in task.metrics:
                score = record.scores.get(metric.name) if record is not None else None
                yield Term(task.name, split, metric.name), score or absent
