"""Measures the kept probabilities of a study's fits by the metrics of calibration. Nothing is fitted or predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from benchrunner import FitError, Score, Task, Undefined
from benchrunner.results import CellResult, Fit, Record, cells, predicting, select, study
from benchrunner_calibration.binning import Binning
from benchrunner_calibration.measures import ROOTS, TESTED, confidence_and_right, measures, root
from benchrunner_calibration.reliability import Bin, reliability
from benchrunner_calibration.temperature import temperature_measures
from benchrunner_statistics import AnsweredRows, kept_figures


@final
@dataclass(frozen=True)
class SystemReliability:
    """How many answers of a system on a split are right, by their confidence."""

    system: str
    task: str
    """Name of the task in tables, with the split where the task has several dev splits."""
    rows: int
    bins: tuple[Bin, ...]


@final
@dataclass(frozen=True)
class Measured:
    """The calibration of a system on a split."""

    cell: CellResult
    """The result of the system, whose task has the metrics of calibration and this dev split alone."""
    columns: tuple[study.Column, ...]
    reliability: SystemReliability


@final
@dataclass(frozen=True)
class _Scored:
    """Gives the kept predictions of a cell's restarts with scores by the metrics of calibration."""

    cell: CellResult
    kept: AnsweredRows
    task: Task
    probabilities: Mapping[str, Sequence[Any]]
    """Fit id -> the probabilities of each row."""

    def predict(self, fit: Fit, split: str) -> predicting.Predicted:
        """Return the fit's answers with their scores."""
        predicted = self.cell.predicted(fit, split)
        figures = {"probabilities": self.probabilities[fit.id]}
        scores = self.task.scores(self.kept.rows.table, predicted.answers, figures)
        return replace(predicted, record=replace(predicted.record, scores=scores))


def measured_cell(cell: CellResult, split: str, title: str, binning: Binning, with_temperature: bool) -> Measured:
    """Measure the restarts of a cell at its chosen grid point. `title` names the task and the split in tables.

    Raises `Undefined` where a problem or a method gives no probabilities of labels, and another error of benchrunner
    where answers, outputs or data are gone.
    """
    if cell.chosen is None or not cell.restarts:
        reasons = "; ".join(dict.fromkeys(cell.lost.values()))
        raise FitError(f"no fit has scores: {reasons or 'none is finished'}")
    if cell.restarts[0].method == predicting.MAJORITY:
        raise Undefined("the method 'majority' gives an answer, and no probabilities")
    kept = AnsweredRows.kept([cell], split)
    assert kept.gold is not None  # rows of dev are labelled
    probabilities = {fit.id: _probabilities(fit, kept, cell) for fit in cell.restarts}
    labels = getattr(kept.task.problem, "labels", ())
    answered = [confidence_and_right(kept.gold, given, labels) for given in probabilities.values()]
    has_clusters = kept.task.clusters in kept.rows.table.column_names
    clusters = kept.task.clusters if has_clusters else ""
    figures = [*measures(labels, binning, clusters)]
    if with_temperature:
        half = np.zeros(len(kept.rows), dtype=bool)
        half[kept.task.divided(kept.rows, 2, "halves")[1]] = True
        figures += temperature_measures(labels, half, [metric for metric in figures if metric.name in TESTED])
    task = replace(
        kept.task,
        name=kept.task.name if len(kept.task.named("dev")) == 1 else f"{kept.task.name} ({split})".lower(),
        splits={name: kept.task.splits[name] for name in (kept.task.train, split)},
        metrics=(*kept.task.metrics, *figures),
        suite=None,
        select_on=(),
    )
    columns = []
    for metric in figures:
        place = (f"{title} {metric.name}", task.name, split, metric.name)
        columns.append(study.Column(*place, label=title, is_tested=metric.name in TESTED))
    own = replace(
        cell.cell,
        task=task,
        candidates=(cells.Candidate(cell.chosen, cell.restarts),),
        selection=cells.Selection(),
        tests=(),
        columns=tuple(column.name for column in columns),
    )
    scored = _Scored(cell, kept, task, probabilities)
    units = kept.rows.table.column(clusters).to_pylist() if clusters else range(len(kept.rows))
    bins = reliability(answered, units, binning, max(1, cell.restarts[0].folds))
    return Measured(
        replace(cell, cell=own, predictions=scored, figures=_figures(own, scored)),
        tuple(columns),
        SystemReliability(own.system, title, len(kept.rows), bins),
    )


def _probabilities(fit: Fit, kept: AnsweredRows, cell: CellResult) -> Sequence[Any]:
    """Return the kept probabilities of a fit for each row."""
    assert cell.runner is not None
    figures = kept_figures(fit, kept.rows, cell.runner)
    if "probabilities" not in figures:
        raise Undefined(f"a question of the kind '{kept.task.problem.name}' has no probabilities of labels")
    return figures["probabilities"]


def _figures(cell: cells.Cell, scored: _Scored) -> dict[Any, cells.Figure]:
    """Return the figures over the restarts. The root of a squared error is that of the mean square."""
    records = {fit.id: Record(fit.id, "done") for fit in cell.fits}
    figures = dict(select(cell, records, scored).figures)
    for term, figure in list(figures.items()):
        if term.metric in ROOTS and figure.mean.value is not None:
            squares = [figures[replace(term, metric=name)].mean.value or 0.0 for name in ROOTS[term.metric]]
            figures[term] = replace(figure, mean=Score(root(sum(squares))))
    return figures
