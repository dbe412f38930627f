"""Selection on dev: the grid point and the fit that are reported, and their scores over the restarts."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchrunner.fits import Fit
from benchrunner.metrics import Score
from benchrunner.records import Record
from benchrunner.runs.runner import Runner
from benchrunner.studies.study import Candidate, Cell, CellResult, Spread
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task


def select(cell: Cell, records: Mapping[str, Record], runner: Runner) -> CellResult:
    """Choose the grid point with the best mean and its best fit; `records` maps fit ids to records."""
    task, splits = cell.task, cell.task.named("dev")
    lost = {
        fit.id: f"{records[fit.id].status}: {records[fit.id].reason}"
        for fit in cell.fits
        if records[fit.id].status != "done"
    }
    notes = dict.fromkeys(note for fit in cell.fits for note in records[fit.id].notes)
    if len(splits) > 1:
        notes[selection_note(task)] = None
    finished = [(point, [fit for fit in point.fits if fit.id not in lost]) for point in cell.candidates]
    finished = [(point, fits) for point, fits in finished if fits]
    if not finished:
        return CellResult(cell, None, None, {}, {}, lost, tuple(notes))
    chosen, fits, selected = _best(task, finished, runner)
    predictions = {(fit.id, split): runner.predict(fit, split).record for fit in fits for split in splits}
    spreads = {}
    for split in splits:
        for metric in task.metrics:
            scores = [predictions[fit.id, split].scores[metric.name] for fit in fits]
            best = predictions[selected.id, split].scores[metric.name]
            spreads[Term(task.name, split, metric.name)] = _spread(best, scores)
    for split in splits:
        notes |= dict.fromkeys(predictions[selected.id, split].notes)
    flagged: dict[str, int] = {}
    for fit in fits:
        for flag in dict.fromkeys(flag for split in splits for flag in predictions[fit.id, split].flags):
            flagged[flag] = flagged.get(flag, 0) + 1
    return CellResult(cell, selected, chosen.recipe, spreads, flagged, lost, tuple(notes))


def _best(
    task: Task, finished: Sequence[tuple[Candidate, list[Fit]]], runner: Runner
) -> tuple[Candidate, list[Fit], Fit]:
    """Return the grid point with the best mean headline, its finished fits, and its best fit."""
    headline = task.metrics[0].name

    def value(fit: Fit) -> float:
        scores = [runner.predict(fit, split).record.scores[headline].value for split in task.selection_splits]
        figures = [score for score in scores if score is not None]
        return statistics.fmean(figures) if len(figures) == len(scores) else float("-inf")

    chosen, fits = max(finished, key=lambda pair: statistics.fmean(value(fit) for fit in pair[1]))
    return chosen, fits, max(fits, key=value)


def selection_note(task: Task) -> str:
    """Say which dev splits selected the grid point and the restart."""
    splits = task.selection_splits
    return f"selected on {splits[0]}" if len(splits) == 1 else f"selected on the mean over {', '.join(splits)}"


def _spread(best: Score, scores: Sequence[Score]) -> Spread:
    """Summarize the restarts. The mean is absent if any restart has no score: the mean of the others is too good."""
    values = tuple(score.value for score in scores if score.value is not None)
    if len(values) < len(scores):
        reason = next(score.reason for score in scores if score.value is None)
        absent = Score(None, f"{len(scores) - len(values)} of {len(scores)} restarts: {reason}")
        return Spread(best, absent, None, values)
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Spread(best, Score(statistics.fmean(values)), deviation, values)
