"""Results of kept studies, rebuilt from their files and the run folders. Nothing is fitted or predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from benchrunner.fits.fit import Fit, Record
from benchrunner.metrics import Score
from benchrunner.runs.folder import RunFolder
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Cell, CellResult, LimitedRunners
from benchrunner.studies.comparison.formats import as_html
from benchrunner.studies.kept.kept_form import KeptContent, prediction_ids, rebuilt_cell
from benchrunner.studies.kept.kept_study import find_study
from benchrunner.studies.kept.noted_predictions import KeptPredictions
from benchrunner.studies.result import Result
from benchrunner.studies.selection import select
from benchrunner.studies.study import Study
from benchrunner.tasks.task import Term


def read_study(name: str, runner: Runner) -> Result:
    """Rebuild the result of a kept study from its file and the run folders. Nothing is fitted or predicted.

    Needs the plugins of the study's tasks, but neither data nor backbones. Selection runs again on the kept
    predictions. A study that is not complete has the fits that are finished by now; a fit that is not finished, or
    whose folder was removed, has no scores, and `CellResult.lost` gives the reason.
    """
    content = find_study(runner.workspace.runs, name).content
    runners, asked, results = LimitedRunners(runner), list[Cell](), list[CellResult]()
    for kept in content.cells:
        cell, limited = rebuilt_cell(kept, runner.plugins), runners.of(kept.fitting)
        asked.append(replace(cell, candidates=(), backbone=kept.backbone))
        if cell.candidates:
            predictions = KeptPredictions(limited, prediction_ids(kept))
            results.append(kept_cell_result(cell, predictions, limited, kept.lost))
    study = replace(
        content.study,
        cells=tuple(cell for cell in asked if cell.columns),
        stages=tuple(cell for cell in asked if not cell.columns),
    )
    baseline = dict(_baseline(content, study, asked, runner))
    return Result(study, tuple(results), baseline, name, runner, content.others, content.submissions, html=as_html)


def kept_cell_result(
    cell: Cell, predictions: KeptPredictions, runner: Runner, lost: Mapping[str, tuple[str, str]]
) -> CellResult:
    """Select among the fits of a cell by their kept records and predictions.

    `lost` maps the id of each fit without scores to its status and the reason.
    """
    records = {fit.id: _record(fit, cell, predictions, lost, runner) for fit in cell.fits}
    return select(cell, records, predictions, runner=runner)


def _record(
    fit: Fit, cell: Cell, predictions: KeptPredictions, lost: Mapping[str, tuple[str, str]], runner: Runner
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


def _baseline(content: KeptContent, study: Study, cells: list[Cell], runner: Runner) -> Iterator[tuple[Term, Score]]:
    """Yield the scores of the majority answer on every scored split; absent ones if its run was removed."""
    absent = Score(None, "the run of the majority answer was removed, or is not finished")
    for task in {cell.task.name: cell.task for cell in cells}.values():
        kept = content.majority.get(task.name)
        for split in study.scored_splits(task):
            record = None
            if kept is not None:
                folder = RunFolder(runner.workspace.runs, kept.fit)
                record = folder.prediction_record(kept.predictions.get(split, ""))
            for metric in task.metrics:
                score = None if record is None else record.scores.get(metric.name)
                yield Term(task.name, split, metric.name), score or absent
