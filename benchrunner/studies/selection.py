"""Selection on dev: the grid point and the fit that are reported, and their scores over the restarts."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from benchrunner.errors import FitError, RequestError, first_line
from benchrunner.fits.fit import Fit
from benchrunner.fits.record import Record
from benchrunner.metrics import Score
from benchrunner.studies.predictions import Predictions
from benchrunner.studies.study import Candidate, Cell, CellResult, Spread
from benchrunner.tasks.suites import Term


def select(cell: Cell, records: Mapping[str, Record], predictions: Predictions) -> CellResult:
    """Choose a grid point and a fit by the cell's selection; `records` maps fit ids to records."""
    task, splits = cell.task, cell.task.named("dev")
    lost = {
        fit.id: f"{records[fit.id].status}: {records[fit.id].reason}"
        for fit in cell.fits
        if records[fit.id].status != "done"
    }
    notes = dict.fromkeys(note for fit in cell.fits for note in records[fit.id].notes)
    if note := cell.selection.note(task):
        notes[note] = None
    finished = [(point, [fit for fit in point.fits if fit.id not in lost]) for point in cell.candidates]
    finished = [(point, fits) for point, fits in finished if fits]
    if not finished:
        return CellResult(cell, None, None, {}, {}, lost, tuple(notes))
    chosen, fits, selected = _best(cell, finished, predictions)
    judged = {(fit.id, split): predictions.predict(fit, split).record for fit in fits for split in splits}
    spreads = {}
    for split in splits:
        for metric in task.metrics:
            scores = [judged[fit.id, split].scores[metric.name] for fit in fits]
            best = judged[selected.id, split].scores[metric.name]
            spreads[Term(task.name, split, metric.name)] = _spread(best, scores)
    for split in cell.tests:
        scores_of = {fit.id: _test_scores(fit, split, cell, predictions) for fit in fits}
        for name, best in scores_of[selected.id].items():
            spreads[Term(task.name, split, name)] = _spread(best, [scores_of[fit.id][name] for fit in fits])
    for split in splits:
        notes |= dict.fromkeys(judged[selected.id, split].notes)
    flagged: dict[str, int] = {}
    for fit in fits:
        for flag in dict.fromkeys(flag for split in splits for flag in judged[fit.id, split].flags):
            flagged[flag] = flagged.get(flag, 0) + 1
    return CellResult(cell, selected, chosen.recipe, spreads, flagged, lost, tuple(notes))


def _test_scores(fit: Fit, split: str, cell: Cell, predictions: Predictions) -> Mapping[str, Score]:
    """Score a fit on a test split; scores that cannot be computed are absent, because the fit's scores on dev count."""
    try:
        return predictions.predict(fit, split).record.scores
    except (FitError, RequestError) as error:
        return {metric.name: Score(None, first_line(error)) for metric in cell.task.metrics}


def _best(
    cell: Cell, finished: Sequence[tuple[Candidate, list[Fit]]], predictions: Predictions
) -> tuple[Candidate, list[Fit], Fit]:
    """Return the grid point that is selected, its finished fits, and its best fit."""
    metric, splits = cell.selection.metric_of(cell.task), cell.selection.splits_of(cell.task)

    def value(fit: Fit) -> float:
        scores = [predictions.predict(fit, split).record.scores[metric].value for split in splits]
        figures = [score for score in scores if score is not None]
        return statistics.fmean(figures) if len(figures) == len(scores) else float("-inf")

    values = {fit.id: value(fit) for _, fits in finished for fit in fits}
    over_restarts: Callable[[list[float]], float] = max if cell.selection.rule == "best" else statistics.fmean
    chosen, fits = max(finished, key=lambda pair: over_restarts([values[fit.id] for fit in pair[1]]))
    return chosen, fits, max(fits, key=lambda fit: values[fit.id])


def _spread(best: Score, scores: Sequence[Score]) -> Spread:
    """Summarize the restarts. The mean is absent if any restart has no score: the mean of the others is too good."""
    values = tuple(score.value for score in scores if score.value is not None)
    if len(values) < len(scores):
        reason = next(score.reason for score in scores if score.value is None)
        absent = Score(None, f"{len(scores) - len(values)} of {len(scores)} restarts: {reason}")
        return Spread(best, absent, None, values)
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Spread(best, Score(statistics.fmean(values)), deviation, values)
