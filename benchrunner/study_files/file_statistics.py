"""Statistics of a study file: an interval for each figure of a task, and a test of each system against the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from benchrunner.errors import BenchrunnerError, Undefined, first_line
from benchrunner.metrics import Metric
from benchrunner.statistics import Interval
from benchrunner.statistics.intervals import interval_of_scored
from benchrunner.statistics.scored_answers import ScoredAnswers
from benchrunner.studies.comparison.conclusions import SHOWN, Tested, caution, sentence
from benchrunner.studies.comparison.layout import interval_text
from benchrunner.studies.comparison.marks import clear_legend, clear_mark
from benchrunner.studies.kept.predictions import NotedPredictions
from benchrunner.studies.study import CellResult, Result
from benchrunner.studies.study_statistics import BackboneDifference, differences_with_holm, scored_answers
from benchrunner.study_files.entries import Entry
from benchrunner.study_files.study_file import Column, StudyFile
from benchrunner.tasks.task import Task

Place = tuple[str, str]
"""A system and a column, by name."""


@final
@dataclass(frozen=True)
class FileStatistics:
    """Statistics of a study file's figures. All of them use every restart at the chosen grid point."""

    intervals: Mapping[Place, Interval] = field(default_factory=dict)
    """Interval of the mean score over other examples, for these restarts; on the scale of the metric's values."""
    tests: Mapping[Place, BackboneDifference] = field(default_factory=dict)
    """Tests of every system against the first system that has a figure in the column."""
    firsts: Mapping[str, str] = field(default_factory=dict)
    """Column -> the system with which the others are compared."""
    scales: Mapping[str, float] = field(default_factory=dict)
    """Column -> the scale of its metric, on which figures are printed."""
    absent: Mapping[Place, str] = field(default_factory=dict)
    """Why a figure of a task has no interval, or no test."""

    def interval_shown(self, place: Place) -> str:
        """Write the interval of a figure; nothing if there is none."""
        return interval_text(self.intervals.get(place), self.scales.get(place[1], 1.0))

    def mark(self, place: Place) -> str:
        """Return the mark of a clear difference, or nothing."""
        return clear_mark(self.tests.get(place))

    def notes(self) -> Iterator[str]:
        """Yield what the intervals and marks mean, and for each system where it is better or worse than the first."""
        if self.intervals:
            yield "[low, high]: 95 % interval of the mean, if the examples of the split were others of the same kind"
        yield from clear_legend(self.tests.values(), "the first system of the column")
        for (system, first), tests in self._tests_by_pair().items():
            yield sentence(system, first, tests, shown=SHOWN, of="column")
        if text := caution(self.tests.values()).strip():
            yield text

    def _tests_by_pair(self) -> dict[tuple[str, str], list[Tested]]:
        """Group the tests by the two systems that they compare."""
        pairs = dict[tuple[str, str], list[Tested]]()
        for (system, column), test in self.tests.items():
            pairs.setdefault((system, self.firsts[column]), []).append(Tested(column, self.scales[column], test))
        return pairs

    def comparisons_json(self) -> list[dict[str, Any]]:
        """Return the tests as JSON values."""
        return [
            {"system": system, "with": self.firsts[column], "column": column, **test.as_json()}
            for (system, column), test in self.tests.items()
        ]


def file_statistics(study: StudyFile, entries: Mapping[Place, Entry], results: Sequence[Result]) -> FileStatistics:
    """Compute the statistics of a study file from the answers of its fits. Nothing is fitted.

    `results` are the studies that the entries were taken from. Where the data is no longer there, or a score has no
    value, the statistic is absent with the reason. Results without a runner have no statistics.
    """
    parts = {id(cell): part for part in results for cell in part.cells}
    scored, absent = dict[Place, Sequence[ScoredAnswers]](), dict[Place, str]()
    intervals, firsts, scales = dict[Place, Interval](), dict[str, str](), dict[str, float]()
    for column in study.columns:
        for system in study.systems:
            place = (system.name, column.name)
            entry = entries.get(place)
            if entry is None or entry.cell is None or entry.mean is None or entry.members:
                continue
            metric = _metric(entry.cell, column)
            try:
                scored[place] = _answers(entry.cell, column, metric, parts[id(entry.cell)])
                firsts.setdefault(column.name, system.name)
                scales[column.name] = metric.scale
                intervals[place] = interval_of_scored(scored[place])
            except (BenchrunnerError, ValueError) as reason:
                absent[place] = first_line(reason)
    tests, reasons = differences_with_holm(scored, _pairs(entries, scored, firsts))
    return FileStatistics(intervals, tests, firsts, scales, absent | reasons)


def _metric(cell: CellResult, column: Column) -> Metric:
    task: Task = cell.cell.task
    return next(metric for metric in task.metrics if metric.name == column.term(task).metric)


def _answers(cell: CellResult, column: Column, metric: Metric, part: Result) -> Sequence[ScoredAnswers]:
    """Return the answers of all restarts of a figure."""
    if part.runner is None:
        raise Undefined("the result has no runner, so that answers cannot be read")
    predictions = part.predictions or NotedPredictions(part.runner)
    return scored_answers(cell, column.term(cell.cell.task), metric, part.runner, predictions)


def _pairs(
    entries: Mapping[Place, Entry], scored: Mapping[Place, Sequence[ScoredAnswers]], firsts: Mapping[str, str]
) -> Iterator[tuple[Place, Place]]:
    """Yield which figures are compared: those of each system with those of the first, unless the fits are the same."""
    for system, column in scored:
        place, first = (system, column), (firsts[column], column)
        if place != first and _fits(entries[place]) != _fits(entries[first]):
            yield place, first


def _fits(entry: Entry) -> list[str]:
    return [] if entry.cell is None else [fit.id for fit in entry.cell.restarts]
