"""Selection on dev: the grid point and the fit that are reported, and their figures over the restarts."""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import final

from benchrunner.errors import FitError, RequestError, first_line
from benchrunner.fits.fit import Fit, Record
from benchrunner.metrics import Metric, Score
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import SEALED, Candidate, Cell, CellResult, Figure
from benchrunner.studies.predictions import Predictions
from benchrunner.tasks.task import Term


def select(
    cell: Cell, records: Mapping[str, Record], predictions: Predictions, *, runner: Runner | None = None
) -> CellResult:
    """Choose a grid point and a fit by the cell's selection; `records` maps fit ids to records."""
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
    ranking = Ranking(records, predictions)
    scores = {point.recipe: ranking.score(cell, point) for point in cell.candidates}
    finished = [point for point in map(ranking.finished, cell.candidates) if point.fits]
    chosen = max(finished, key=lambda point: scores[point.recipe], default=None)
    result = CellResult(cell, None, None, {}, {}, lost, tuple(notes), runner, predictions, scores)
    if chosen is None:
        return result
    optimism = ranking.optimism(cell)
    if optimism is not None and optimism > 0:
        notes[_optimism_note(cell, optimism)] = None
    selected = max(chosen.fits, key=lambda fit: ranking.of_fit(cell, fit))
    for split in cell.scored_splits:
        with contextlib.suppress(FitError, RequestError):  # of a test split, which may have no answers
            notes |= dict.fromkeys(predictions.predict(selected, split).record.notes)
    return replace(
        result,
        selected=selected,
        chosen=chosen.recipe,
        figures=_figures(cell, chosen.fits, selected, predictions),
        flagged=_flagged(cell, chosen.fits, predictions),
        notes=tuple(notes),
    )


def _optimism_note(cell: Cell, optimism: float) -> str:
    """Say what the choice on dev adds to the mean of the selected grid point."""
    metric = cell.task.metric(cell.selection.metric_of(cell.task))
    changes, without = ("lowers", "higher") if metric.lower_is_better else ("raises", "lower")
    return (
        f"dev chose among {len(cell.candidates)} grid points, which {changes} the mean by about "
        f"{metric.scale * optimism:.1f}: chosen for each restart by the others, it is that much {without}"
    )


@final
class Ranking:
    """Compares fits and grid points by their scores on dev. `records` maps the ids of the fits to their records."""

    def __init__(self, records: Mapping[str, Record], predictions: Predictions) -> None:
        self._records = records
        self._predictions = predictions

    def finished(self, point: Candidate) -> Candidate:
        """Return a grid point with its finished fits alone."""
        return replace(point, fits=tuple(fit for fit in point.fits if self._records[fit.id].status == "done"))

    def score(self, cell: Cell, point: Candidate) -> float:
        """Return the score by which grid points are compared; minus infinity if no fit of the point finished.

        Restarts that were added later do not count, unless all restarts before them were lost.
        """
        fits = self.finished(point).fits
        scores = [self.of_fit(cell, fit) for fit in fits]
        of_first = scores[: sum(fit.seed in cell.fitting.first_seeds for fit in fits)] or scores
        if not scores:
            return -math.inf
        return max(of_first) if cell.selection.rule == "best" else fmean(of_first)

    def optimism(self, cell: Cell) -> float | None:
        """Estimate how much the mean of the selected grid point gains from being selected by its own restarts.

        Each restart is scored at the grid point that the other restarts select. None if there is nothing to choose, or
        if some fits have no score.
        """
        scores = []
        for point in cell.candidates:
            first = [fit for fit in self.finished(point).fits if fit.seed in cell.fitting.first_seeds]
            scores.append([self.of_fit(cell, fit) for fit in first])
        restarts = len(cell.fitting.first_seeds)
        is_whole = all(len(of_point) == restarts and -math.inf not in of_point for of_point in scores)
        if cell.selection.rule == "best" or len(scores) < 2 or restarts < 2 or not is_whole:
            return None
        means = [fmean(of_point) for of_point in scores]
        left_out = []
        for restart in range(restarts):
            others = [sum(of_point) - of_point[restart] for of_point in scores]
            left_out.append(scores[others.index(max(others))][restart])
        return max(means) - fmean(left_out)

    def of_fit(self, cell: Cell, fit: Fit) -> float:
        """Return the score by which fits are compared: the mean over the dev splits that select, as `Metric.gain`.

        Minus infinity if one of these splits has no score.
        """
        metric = cell.task.metric(cell.selection.metric_of(cell.task))
        scores = []
        for split in cell.selection.splits_of(cell.task):
            value = self._predictions.predict(fit, split).record.scores[metric.name].value
            if value is None:
                return -math.inf
            scores.append(value)
        return metric.gain(fmean(scores))


def _flagged(cell: Cell, fits: Sequence[Fit], predictions: Predictions) -> dict[str, int]:
    """Count for each flag the fits that carry it on some dev split."""
    flagged = Counter[str]()
    for fit in fits:
        flags = dict[str, None]()
        for split in cell.task.named("dev"):
            flags |= dict.fromkeys(predictions.predict(fit, split).record.flags)
        flagged.update(flags.keys())
    return flagged


def _figures(cell: Cell, fits: Sequence[Fit], selected: Fit, predictions: Predictions) -> dict[Term, Figure]:
    """Compute the figure of every metric on every scored split."""
    figures = {}
    for split in cell.scored_splits:
        scores = {fit.id: _scores(fit, split, cell, predictions) for fit in fits}
        for metric in cell.task.metrics:
            best = scores[selected.id][metric.name]
            of_restarts = [of_fit[metric.name] for of_fit in scores.values()]
            figures[Term(cell.task.name, split, metric.name)] = _figure(best, of_restarts, metric)
    return figures


def _scores(fit: Fit, split: str, cell: Cell, predictions: Predictions) -> Mapping[str, Score]:
    """Return the scores of a fit on a split; on a test split, absent ones if they cannot be computed."""
    try:
        scores = predictions.predict(fit, split).record.scores
        return scores or {metric.name: Score(None, SEALED) for metric in cell.task.metrics}
    except (FitError, RequestError) as error:
        if split not in cell.tests:
            raise
        return {metric.name: Score(None, first_line(error)) for metric in cell.task.metrics}


def _figure(best: Score, scores: Sequence[Score], metric: Metric) -> Figure:
    """Summarize the restarts. The mean is absent if any restart has no score: the mean of the others is too good."""
    values = tuple(score.value for score in scores if score.value is not None)
    reasons = [score.reason for score in scores if score.value is None]
    mean = Score(None, f"{len(reasons)} of {len(scores)} restarts: {reasons[0]}") if reasons else Score(fmean(values))
    figure = Figure(best, mean, values=values).measured_by(metric)
    if mean.value is None:
        return figure
    deviation = stdev(values) if len(values) > 1 else None
    return replace(figure, deviation=deviation, limits=metric.limits(mean.value))
