"""The sections of a report: the figures of a column, and the rows that its fits answered. Nothing is predicted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from benchrunner.errors import BenchrunnerError, RequestError, first_line
from benchrunner.fits.fit import Fit
from benchrunner.reports.disagreement import Disagreement, disagreement
from benchrunner.reports.fit_figures import Curve, GridPoint, curves, grid_points
from benchrunner.reports.slices import Confusion, Slice, confusions, slices_by_label, slices_by_length
from benchrunner.runs.folder import read_prediction
from benchrunner.runs.predicting import Predicted
from benchrunner.runs.runner import Runner
from benchrunner.statistics import Interval
from benchrunner.studies.answered_rows import AnsweredRows, answered_rows
from benchrunner.studies.cells import CellResult, Figure
from benchrunner.studies.kept.noted_predictions import KeptPredictions, PredictionIds
from benchrunner.studies.predictions import Predictions
from benchrunner.studies.result import Result
from benchrunner.studies.study import Column
from benchrunner.tasks.task import Task, Term


@final
class ReportedAnswers:
    """Reads predictions from the runs folder, each record and each list of answers at most once."""

    def __init__(self, runner: Runner, predictions: Predictions | None = None) -> None:
        """Read the predictions that a study noted; without them, the newest predictions of each fit."""
        self._kept = predictions or KeptPredictions(runner, PredictionIds())
        self._read: dict[tuple[str, str], Predicted] = {}

    def predict(self, fit: Fit, split: str) -> Predicted:
        """Return the kept answers of a fit to a split; raise a `FitError` if there are none."""
        key = (fit.id, split)
        if key not in self._read:
            self._read[key] = self._kept.predict(fit, split)
        return self._read[key]


@final
@dataclass(frozen=True)
class Section:
    """What a report shows of one column, or of several columns with the same fits."""

    anchor: str
    """Id of the section in HTML."""
    result: Result
    column: Column
    cells: tuple[CellResult, ...]
    """The cells of the systems, in the order of the study."""
    curves: tuple[Curve, ...] = ()
    grid: tuple[GridPoint, ...] = ()
    confusions: tuple[Confusion, ...] = ()
    by_length: tuple[Slice, ...] = ()
    by_label: tuple[Slice, ...] = ()
    disagreement: Disagreement | None = None
    absent: str = ""
    """Why the section shows nothing about single rows; empty if it does."""

    @property
    def task(self) -> Task:
        """The task of the column."""
        return self.cells[0].cell.task

    @property
    def term(self) -> Term:
        """The metric and the split of the column."""
        return self.column.term(self.task)

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(cell.cell.system for cell in self.cells)

    @property
    def figures(self) -> Mapping[str, Figure]:
        """The figure of each system."""
        return {name: self.result.figures[name, self.column.name] for name in self.systems}

    @property
    def values(self) -> Mapping[str, list[float]]:
        """The scores of each system's restarts, as tables show them."""
        values = dict[str, list[float]]()
        for name, figure in self.figures.items():
            if figure.values:
                values[name] = [value * figure.scale for value in figure.values]
        return values

    @property
    def scale(self) -> float:
        """Factor by which tables multiply the figures."""
        return next(metric.scale for metric in self.task.metrics if metric.name == self.term.metric)

    @property
    def majority(self) -> float | None:
        """The score of the majority answer, as tables show it."""
        score = self.result.baseline.get(self.term)
        return None if score is None or score.value is None else score.value * self.scale

    @property
    def trials(self) -> Mapping[str, list[float]]:
        """The best score to expect of each system after 1, 2, ... trials, as tables show it."""
        trials = dict[str, list[float]]()
        for name in self.systems:
            values = self.result.statistics.trials.get((name, self.column.name), ())
            if values:
                trials[name] = [value * self.scale for value in values]
        return trials

    def interval(self, system: str) -> Interval | None:
        """Return the interval of a system's figure over other examples."""
        return self.result.statistics.intervals.get((system, self.column.name))


def reported(result: Result, runner: Runner) -> Result:
    """Return a result whose answers are read from the runs folder, each once."""
    cells = list[CellResult]()
    for cell in result.cells:
        own = cell.runner or runner
        answers = ReportedAnswers(own, cell.predictions)
        cells.append(replace(cell, runner=own, predictions=answers))
    return replace(result, cells=tuple(cells), runner=runner)


def sections(result: Result, *, most_bytes: int) -> Iterator[Section]:
    """Yield a section for the columns of tasks; `most_bytes` is the size of the rows of all sections together."""
    columns = {column.name: column for column in result.study.columns}
    groups = dict[str, list[CellResult]]()
    for cell in result.table_cells:
        groups.setdefault(cell.cell.columns[0], []).append(cell)
    for number, (name, cells) in enumerate(groups.items()):
        anchor = f"task-{number}-{cells[0].cell.task.name.replace('/', '-')}"
        section = Section(anchor, result, columns[name], tuple(cells))
        yield _filled(section, most_bytes=most_bytes // len(groups))


def _filled(section: Section, *, most_bytes: int) -> Section:
    """Add what is read from logs, predictions and data."""
    term = section.term
    split = term.split if term.split in section.task.named("dev") else section.task.named("dev")[0]
    metric = next(metric for metric in section.task.metrics if metric.name == term.metric)
    section = replace(
        section,
        curves=tuple(curve for cell in section.cells for curve in curves(cell)),
        grid=tuple(point for cell in section.cells for point in grid_points(cell, split, metric)),
    )
    try:
        rows = answered(section.cells, split)
    except BenchrunnerError as reason:
        return replace(section, absent=first_line(reason))
    if not rows.answers or rows.gold is None or not len(rows.rows):
        return section
    return replace(
        section,
        confusions=confusions(rows),
        by_length=slices_by_length(rows),
        by_label=slices_by_label(rows),
        disagreement=disagreement(rows, most_bytes=most_bytes),
    )


def answered(cells: Sequence[CellResult], split: str) -> AnsweredRows:
    """Return the rows of a split with the kept answers of every system's restarts at its chosen grid point.

    Raises a `RequestError` if the data is missing or changed since the fits answered it, and a `FitError` if a fit has
    no kept answers.
    """
    task, runner = cells[0].cell.task, cells[0].runner
    if runner is None:
        raise RequestError("The result has no runner, so that answers cannot be read.")
    fingerprint, answers = runner.planner.rows(task, split).fingerprint, dict[str, list[object]]()
    for cell in cells:
        predictions = cell.predictions or KeptPredictions(runner, PredictionIds())
        for fit in cell.restarts:
            predicted = predictions.predict(fit, split)
            if read_prediction(predicted.folder).data != fingerprint:
                raise RequestError(f"The data of {task.name} ({split}) changed since the fit {fit.id} answered it.")
            answers[fit.id] = predicted.answers
    fits = {cell.cell.system: cell.restarts for cell in cells}
    return answered_rows(task, split, fits, runner, lambda fit, _: answers[fit.id])
