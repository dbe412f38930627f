"""The sections of a report: the scores of a column of the table, and the rows with the kept answers of its fits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

from benchrunner import BenchrunnerError, Metric, Task, Term
from benchrunner.results import CellResult, Result, entries
from benchrunner_report.disagreement import Disagreement
from benchrunner_report.drawings.matrix import Matrix
from benchrunner_report.fit_figures import Curve, GridPoint, grid_points, mean_curve
from benchrunner_report.grading import Grading, graded
from benchrunner_report.slices import Slice, confusions, labels_words, slices_by_label, slices_by_train
from benchrunner_statistics import AnsweredRows


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
    confusions: tuple[Matrix, ...] = ()
    counted: str = ""
    """What confusion matrices count: `rows`, or `words` in tasks that label words."""
    graded: str = ""
    """What the figures of slices are."""
    by_label: tuple[Slice, ...] = ()
    by_train: tuple[Slice, ...] = ()
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

    def entry(self, system: str) -> entries.Entry:
        """Return the figure of a system, with its interval."""
        return self.result.entries[system, self.column]

    @property
    def scale(self) -> float:
        """Factor by which tables multiply the figures."""
        return self.task.metric(self.term.metric).scale

    @property
    def majority(self) -> float | None:
        """The score of the majority answer, as tables show it."""
        score = self.result.baseline.get(self.term)
        return None if score is None or score.value is None else score.value * self.scale


def sections(result: Result, *, most_bytes: int) -> Iterator[Section]:
    """Yield a section for the columns of tasks; `most_bytes` is the size of the rows of all sections together."""
    columns = {column.name: column for column in result.study.columns}
    groups = dict[str, list[CellResult]]()
    for cell in result.table_cells:
        groups.setdefault(cell.cell.columns[0], []).append(cell)
    for number, (name, group) in enumerate(groups.items()):
        task = group[0].cell.task
        anchor = f"task-{number}-{task.name.replace('/', '-')}"
        section = Section(anchor, result, name, columns[name].term(task), tuple(group))
        yield _filled(section, most_bytes=most_bytes // len(groups))


def _filled(section: Section, *, most_bytes: int) -> Section:
    """Add what is read from logs, predictions and data."""
    term = section.term
    split = term.split if term.split in section.task.named("dev") else section.task.named("dev")[0]
    metric = section.task.metric(term.metric)
    section = replace(section, curves=tuple(_curves(section)), grid=tuple(_grid(section, split, metric)))
    try:
        rows = AnsweredRows.kept(section.cells, split)
    except BenchrunnerError as reason:
        first, *others = str(reason).splitlines()
        reasons = "; ".join(line.strip(" -") for line in others)
        return replace(section, absent=f"{first} {reasons}".strip())
    if not rows.answers or rows.gold is None or not len(rows.rows):
        return section
    grading = graded(rows)
    return replace(
        section,
        confusions=confusions(rows),
        counted="words" if labels_words(rows) else "rows",
        graded=grading.title,
        by_label=slices_by_label(rows, grading),
        by_train=_by_train(section, rows, grading),
        disagreement=Disagreement.of(rows, grading, most_bytes=most_bytes),
    )


def _by_train(section: Section, rows: AnsweredRows, grading: Grading) -> tuple[Slice, ...]:
    """Group the rows by what of them stands in train, where the training rows are here and no fold of the rows."""
    task, runner = section.task, section.cells[0].runner
    if runner is not None and not task.folds:
        with contextlib.suppress(BenchrunnerError):
            return slices_by_train(rows, runner.planner.rows(task, task.train), grading)
    return ()


def _curves(section: Section) -> Iterator[Curve]:
    """Yield the mean loss of each system that has logs."""
    for cell in section.cells:
        curve = mean_curve(cell)
        if curve is not None:
            yield curve


def _grid(section: Section, split: str, metric: Metric) -> Iterator[GridPoint]:
    """Yield the grid points of all systems."""
    for cell in section.cells:
        yield from grid_points(cell, split, metric)
