"""Selection on dev: the grid point and the fit that are reported, and their figures over the restarts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from benchrunner.errors import FitError, RequestError, first_line
from benchrunner.fits.fit import Fit, Record
from benchrunner.metrics import Score
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Candidate, Cell, CellResult, Figure
from benchrunner.studies.predictions import Predictions
from benchrunner.tasks.task import Term


def select(
    cell: Cell, records: Mapping[str, Record], predictions: Predictions, *, runner: Runner | None = None
) -> CellResult:
    """Choose a grid point and a fit by the cell's selection; `records` maps fit ids to records."""
    lost, notes = dict[str, str](), dict[str, None]()
    for fit in cell.fits:
        record = records[fit.id]
        notes |= dict.fromkeys(record.notes)
        if record.status != "done":
            lost[fit.id] = f"{record.status}: {record.reason}"
    if note := cell.selection.note(cell.task):
        notes[note] = None
    finished = list[Candidate]()
    for point in cell.candidates:
        if fits := tuple(fit for fit in point.fits if fit.id not in lost):
            finished.append(Candidate(point.recipe, fits))
    if not finished:
        return CellResult(cell, None, None, {}, {}, lost, tuple(notes), runner, predictions)
    chosen, selected = _best(cell, finished, predictions)
    judged, flagged = dict[tuple[str, str], Record](), dict[str, int]()
    for fit in chosen.fits:
        flags = dict[str, None]()
        for split in cell.task.named("dev"):
            judged[fit.id, split] = predictions.predict(fit, split).record
            flags |= dict.fromkeys(judged[fit.id, split].flags)
        for flag in flags:
            flagged[flag] = flagged.get(flag, 0) + 1
    for split in cell.task.named("dev"):
        notes |= dict.fromkeys(judged[selected.id, split].notes)
    scores = {place: record.scores for place, record in judged.items()}
    for split in cell.tests:
        for fit in chosen.fits:
            scores[fit.id, split] = _test_scores(fit, split, cell, predictions)
    figures = dict(_figures(cell, chosen.fits, selected, scores))
    return CellResult(cell, selected, chosen.recipe, figures, flagged, lost, tuple(notes), runner, predictions)


def _best(cell: Cell, points: Sequence[Candidate], predictions: Predictions) -> tuple[Candidate, Fit]:
    """Return the grid point that is selected among those with finished fits, and its best fit."""
    best_point, best_value = points[0], -math.inf
    for point in points:
        scores = [_dev_score(fit, cell, predictions) for fit in point.fits]
        value = max(scores) if cell.selection.rule == "best" else statistics.fmean(scores)
        if value > best_value:
            best_point, best_value = point, value
    return best_point, max(best_point.fits, key=lambda fit: _dev_score(fit, cell, predictions))


def _dev_score(fit: Fit, cell: Cell, predictions: Predictions) -> float:
    """Return the score that selects, the mean over the dev splits that select; minus infinity if one is absent."""
    metric, scores = cell.selection.metric_of(cell.task), list[float]()
    for split in cell.selection.splits_of(cell.task):
        value = predictions.predict(fit, split).record.scores[metric].value
        if value is None:
            return -math.inf
        scores.append(value)
    return statistics.fmean(scores)


def _test_scores(fit: Fit, split: str, cell: Cell, predictions: Predictions) -> Mapping[str, Score]:
    """Score a fit on a test split; scores that cannot be computed are absent, because the fit's scores on dev count."""
    try:
        return predictions.predict(fit, split).record.scores
    except (FitError, RequestError) as error:
        return {metric.name: Score(None, first_line(error)) for metric in cell.task.metrics}


def _figures(
    cell: Cell, fits: Sequence[Fit], selected: Fit, scores: Mapping[tuple[str, str], Mapping[str, Score]]
) -> Iterator[tuple[Term, Figure]]:
    """Yield the figure of every metric on every scored split; `scores` maps a fit's id and a split to the scores."""
    for split in cell.scored_splits:
        for metric in cell.task.metrics:
            of_restarts = [scores[fit.id, split][metric.name] for fit in fits]
            best = scores[selected.id, split][metric.name]
            yield Term(cell.task.name, split, metric.name), _figure(best, of_restarts, metric.scale)


def _figure(best: Score, scores: Sequence[Score], scale: float) -> Figure:
    """Summarize the restarts. The mean is absent if any restart has no score: the mean of the others is too good."""
    values = tuple(score.value for score in scores if score.value is not None)
    if len(values) < len(scores):
        reason = next(score.reason for score in scores if score.value is None)
        absent = Score(None, f"{len(scores) - len(values)} of {len(scores)} restarts: {reason}")
        return Figure(best, absent, None, values, scale)
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Figure(best, Score(statistics.fmean(values)), deviation, values, scale)
