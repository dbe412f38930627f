"""Selection on dev: the grid point and the fit that are reported, and their figures over the restarts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from benchrunner.errors import FitError, RequestError, first_line
from benchrunner.fits.fit import Fit, Record
from benchrunner.metrics import Score
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Candidate, Cell, CellResult, Figure, Predictions
from benchrunner.tasks.task import Term


def select(
    cell: Cell, records: Mapping[str, Record], predictions: Predictions, *, runner: Runner | None = None
) -> CellResult:
    """Choose a grid point and a fit by the cell's selection; `records` maps fit ids to records.

    The rows that select choose; figures, flags and notes are of the rows that are scored.
    """
    lost = {}
    notes = dict[str, None]()
    for fit in cell.fits:
        record = records[fit.id]
        notes |= dict.fromkeys(record.notes)
        if record.status != "done":
            lost[fit.id] = f"{record.status}: {record.reason}"
    selection_note = cell.selection.note(cell.task)
    if selection_note is not None:
        notes[selection_note] = None
    finished = finished_points(cell, lost)
    if not finished:
        return CellResult(cell, None, None, {}, {}, lost, tuple(notes), runner, predictions)
    chosen = best_point(cell, finished, predictions)
    selected = max(chosen.fits, key=lambda fit: _dev_score(fit, cell, predictions))
    for split in cell.task.named("dev"):
        notes |= dict.fromkeys(predictions.predict(selected, split).record.notes)
    return CellResult(
        cell,
        selected,
        chosen.recipe,
        _figures(cell, chosen.fits, selected, predictions),
        _flagged(cell, chosen.fits, predictions),
        lost,
        tuple(notes),
        runner,
        predictions,
    )


def finished_points(cell: Cell, lost: Collection[str]) -> list[Candidate]:
    """Return the grid points that have finished fits, with these fits alone."""
    finished = []
    for point in cell.candidates:
        fits = tuple(fit for fit in point.fits if fit.id not in lost)
        if fits:
            finished.append(replace(point, fits=fits))
    return finished


def best_point(cell: Cell, points: Sequence[Candidate], predictions: Predictions) -> Candidate:
    """Return the grid point that is selected among those with finished fits; of equal points the first."""
    return max(points, key=lambda point: point_score(cell, point, predictions))


def point_score(cell: Cell, point: Candidate, predictions: Predictions) -> float:
    """Return the score by which grid points are compared, of the finished fits of a point.

    Restarts that were added later do not count, unless all restarts before them were lost.
    """
    scores = [_dev_score(fit, cell, predictions) for fit in point.fits]
    of_first = scores[: sum(fit.seed in cell.fitting.first_seeds for fit in point.fits)] or scores
    return max(of_first) if cell.selection.rule == "best" else statistics.fmean(of_first)


def _dev_score(fit: Fit, cell: Cell, predictions: Predictions) -> float:
    """Return the score by which fits are compared: the mean over the dev splits that select.

    Minus infinity if one of these splits has no score.
    """
    metric = cell.selection.metric_of(cell.task)
    scores = []
    for split in cell.selection.splits_of(cell.task):
        value = predictions.predict(fit, split, selecting=True).record.scores[metric].value
        if value is None:
            return -math.inf
        scores.append(value)
    return statistics.fmean(scores)


def _flagged(cell: Cell, fits: Sequence[Fit], predictions: Predictions) -> dict[str, int]:
    """Count for each flag the fits that carry it on some dev split."""
    flagged = dict[str, int]()
    for fit in fits:
        flags = dict[str, None]()
        for split in cell.task.named("dev"):
            flags |= dict.fromkeys(predictions.predict(fit, split).record.flags)
        for flag in flags:
            flagged[flag] = flagged.get(flag, 0) + 1
    return flagged


def _figures(cell: Cell, fits: Sequence[Fit], selected: Fit, predictions: Predictions) -> dict[Term, Figure]:
    """Compute the figure of every metric on every scored split."""
    figures = {}
    for split in cell.scored_splits:
        scores = {fit.id: _scores(fit, split, cell, predictions) for fit in fits}
        for metric in cell.task.metrics:
            best = scores[selected.id][metric.name]
            of_restarts = [of_fit[metric.name] for of_fit in scores.values()]
            figures[Term(cell.task.name, split, metric.name)] = _figure(best, of_restarts, metric.scale)
    return figures


def _scores(fit: Fit, split: str, cell: Cell, predictions: Predictions) -> Mapping[str, Score]:
    """Return the scores of a fit on a split; on a test split, absent ones if they cannot be computed."""
    try:
        return predictions.predict(fit, split).record.scores
    except (FitError, RequestError) as error:
        if split not in cell.tests:
            raise
        return {metric.name: Score(None, first_line(error)) for metric in cell.task.metrics}


def _figure(best: Score, scores: Sequence[Score], scale: float) -> Figure:
    """Summarize the restarts. The mean is absent if any restart has no score: the mean of the others is too good."""
    values = tuple(score.value for score in scores if score.value is not None)
    reasons = [score.reason for score in scores if score.value is None]
    if reasons:
        mean = Score(None, f"{len(reasons)} of {len(scores)} restarts: {reasons[0]}")
        return Figure(best, mean, values=values, scale=scale)
    mean = Score(statistics.fmean(values))
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Figure(best, mean, deviation, values, scale)
