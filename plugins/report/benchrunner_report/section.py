"""The sections of a report: the scores of a column of the table, and the rows with the kept answers of its fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import final

from benchrunner import BenchrunnerError, Task, Term
from benchrunner.engine import first_line
from benchrunner.results import AnsweredRows, CellResult, Result
from benchrunner_report.disagreement import Disagreement, disagreement
from benchrunner_report.fit_figures import Curve, GridPoint, curves, grid_points
from benchrunner_report.slices import Confusion, Slice, confusions, slices_by_label, slices_by_length


@final
@dataclass(frozen=True)
class Section:
    """What a report shows of one column, or of several columns with the same fits."""

    anchor: str
    """Id of the section in HTML."""
    result: Result
    column: str
    """Name of the first of these columns, whose figures are shown."""
    term: Term
    """The metric and the split of the column."""
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
    def systems(self) -> tuple[str, ...]:
        """Names of the systems."""
        return tuple(cell.cell.system for cell in self.cells)

    @property
    def values(self) -> Mapping[str, list[float]]:
        """The scores of each system's restarts, as tables show them; systems without scores are left out."""
        values = dict[str, list[float]]()
        for name in self.systems:
            figure = self.result.figures[name, self.column]
            if figure.values:
                values[name] = [value * figure.scale for value in figure.values]
        return values

    @property
    def means(self) -> Mapping[str, float]:
        """The mean of each system that has one, as tables show it."""
        means = dict[str, float]()
        for name in self.systems:
            figure = self.result.figures[name, self.column]
            if figure.mean.value is not None:
                means[name] = figure.mean.value * figure.scale
        return means

    @property
    def intervals(self) -> Mapping[str, tuple[float, float]]:
        """The ends of the interval of each system's mean over other examples, as tables show them, where it has one."""
        ends = dict[str, tuple[float, float]]()
        for name in self.systems:
            interval = self.result.statistics.intervals.get((name, self.column))
            if interval is not None:
                scale = self.result.figures[name, self.column].scale
                ends[name] = (interval.low * scale, interval.high * scale)
        return ends

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
            values = self.result.statistics.trials.get((name, self.column), ())
            if values:
                trials[name] = [value * self.scale for value in values]
        return trials


def sections(result: Result, *, most_bytes: int) -> Iterator[Section]:
    """Yield a section for the columns of tasks; `most_bytes` is the size of the rows of all sections together."""
    columns = {column.name: column for column in result.study.columns}
    groups = dict[str, list[CellResult]]()
    for cell in result.table_cells:
        groups.setdefault(cell.cell.columns[0], []).append(cell)
    for number, (name, cells) in enumerate(groups.items()):
        task = cells[0].cell.task
        anchor = f"task-{number}-{task.name.replace('/', '-')}"
        section = Section(anchor, result, name, columns[name].term(task), tuple(cells))
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
        rows = AnsweredRows.kept(section.cells, split)
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
