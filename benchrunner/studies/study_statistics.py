"""Statistics of a finished study: intervals of every figure, and tests of every system against the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, final

from benchrunner.data.rows import Rows
from benchrunner.errors import BenchrunnerError, Undefined, first_line
from benchrunner.fits.fit import Fit
from benchrunner.metrics import ANSWERS, gold_rows
from benchrunner.runs.predicting import decoding_settings, raw_outputs
from benchrunner.runs.runner import Runner
from benchrunner.statistics import Comparison, Interval, expected_best, holm
from benchrunner.statistics.intervals import interval_of_scored
from benchrunner.statistics.paired_test import compare_scored
from benchrunner.statistics.scored_answers import ScoredAnswers
from benchrunner.studies.cells import CellResult
from benchrunner.studies.study import Column, Place, Study
from benchrunner.tasks.task import Term

ALPHA = 0.05
"""Level of the tests: the probability of even one false mark in a table is at most this."""
K = TypeVar("K")


@final
@dataclass(frozen=True)
class SystemDifference:
    """The difference of a system from the first system of a column."""

    comparison: Comparison
    """The first answers are the system's, so that a positive difference is in favour of the system."""
    adjusted_p: float
    """The p-value after Holm's correction for all tests of the study."""

    @property
    def is_clear(self) -> bool:
        """Whether the difference survives Holm's correction."""
        return self.adjusted_p < ALPHA

    def as_json(self) -> dict[str, Any]:
        """Return the test as JSON values."""
        return {**vars(self.comparison), "adjusted_p": self.adjusted_p, "is_clear": self.is_clear}


@final
@dataclass(frozen=True)
class StudyStatistics:
    """Statistics of a study, by system and column. All of them use every restart at the chosen grid point."""

    intervals: Mapping[Place, Interval] = field(default_factory=dict)
    """Interval of the mean score over other examples, for these restarts; on the scale of the metric's values."""
    tests: Mapping[Place, SystemDifference] = field(default_factory=dict)
    """Tests of every system against the first system that has a figure in the column."""
    firsts: Mapping[str, str] = field(default_factory=dict)
    """Column -> the system with which the others are compared."""
    trials: Mapping[Place, Sequence[float]] = field(default_factory=dict)
    """The best score to expect of 1, 2, ... trials, which are the finished fits of all grid points."""
    absent: Mapping[Place, str] = field(default_factory=dict)
    """Why there is no interval over examples, or no test."""

    def by_pair(self) -> dict[Place, dict[str, SystemDifference]]:
        """Map each two systems that are compared to their tests by column."""
        pairs: dict[Place, dict[str, SystemDifference]] = {}
        for (system, column), test in self.tests.items():
            of_pair = pairs.setdefault((system, self.firsts[column]), {})
            of_pair[column] = test
        return pairs


def study_statistics(study: Study, cells: Mapping[Place, CellResult]) -> StudyStatistics:
    """Compute the statistics of a finished study from the answers of its fits. Nothing is fitted.

    `cells` are the results from which the columns take their figures. Where the data is no longer there, or a score has
    no value, the statistic is absent with the reason. Results without a runner have no statistics.
    """
    scored = {}
    absent = {}
    intervals = {}
    trials = {}
    for column, place, cell in _figures_of_fits(study, cells):
        term = column.term(cell.cell.task)
        if column.is_tested:
            trials[place] = tuple(expected_best(list(_trial_scores(cell, term))))
        if not _has_interval(cell, column, term):
            continue
        try:
            scored[place] = scored_answers(cell, term)
            intervals[place] = interval_of_scored(scored[place])
        except (BenchrunnerError, ValueError) as reason:
            absent[place] = first_line(reason)
    firsts = dict[str, str]()
    for system, column_name in scored:
        firsts.setdefault(column_name, system)
    tests, untested = differences_with_holm(scored, _pairs(study, cells, scored, firsts))
    return StudyStatistics(intervals, tests, firsts, trials, absent | untested)


def _figures_of_fits(study: Study, cells: Mapping[Place, CellResult]) -> Iterator[tuple[Column, Place, CellResult]]:
    """Yield the figures that summarize fits of which each answers alone, with their columns and places."""
    for column in study.columns:
        for system in study.systems:
            place = (system.name, column.name)
            cell = cells.get(place)
            if cell is not None and cell.runner is not None and not system.ensemble:
                yield column, place, cell


def _has_interval(cell: CellResult, column: Column, term: Term) -> bool:
    """Whether a figure gets an interval: it has a mean, and its split is of dev or its column is tested."""
    if term not in cell.figures or cell.figures[term].mean.value is None:
        return False
    return column.is_tested or term.split in cell.cell.task.named("dev")


def differences_with_holm(
    scored: Mapping[K, Sequence[ScoredAnswers]], pairs: Iterable[tuple[K, K]]
) -> tuple[dict[K, SystemDifference], dict[K, str]]:
    """Test pairs of a system and the first system, with Holm's correction over all of them.

    The second value has the reasons why there is no test.
    """
    comparisons = {}
    absent = {}
    for key, first in pairs:
        if key in scored and first in scored:
            try:
                comparisons[key] = compare_scored(scored[key], scored[first])
            except Undefined as reason:
                absent[key] = first_line(reason)
    adjusted = holm({key: comparison.p for key, comparison in comparisons.items()})
    return {key: SystemDifference(comparison, adjusted[key]) for key, comparison in comparisons.items()}, absent


def _pairs(
    study: Study, cells: Mapping[Place, CellResult], scored: Iterable[Place], firsts: Mapping[str, str]
) -> Iterator[tuple[Place, Place]]:
    """Yield which figures are compared: those of each system with those of the first, unless the fits are the same.

    The fits of all systems are the same where the method does not read the backbone. These pairs are the family of
    tests over which Holm corrects.
    """
    tested = {column.name for column in study.columns if column.is_tested}
    for system, column in scored:
        place, first = (system, column), (firsts[column], column)
        if column in tested and _fits(cells[place]) != _fits(cells[first]):
            yield place, first


def _fits(cell: CellResult) -> list[str]:
    return [fit.id for fit in cell.restarts]


def scored_answers(cell: CellResult, term: Term) -> list[ScoredAnswers]:
    """Return the answers of all restarts at the chosen grid point, with the gold answers."""
    if cell.runner is None or cell.predictions is None:
        raise Undefined("the result has no runner, so that answers cannot be read")
    task, runner = cell.cell.task, cell.runner
    metric = next(metric for metric in task.metrics if metric.name == term.metric)
    rows = runner.planner.rows(task, term.split)
    gold = task.problem.gold(rows.table)
    if gold is None:
        raise Undefined(f"{rows.origin} has no labels")
    right = gold_rows(metric, gold, rows.table)
    scored = []
    for fit in cell.restarts:
        if metric.computed_from == ANSWERS:
            answers = cell.predictions.predict(fit, term.split).answers
        else:
            answers = extra_figures(fit, rows, runner)[metric.computed_from]
        if len(answers) != len(right):
            raise Undefined(f"{rows.origin} has {len(right)} rows now, and the fit {fit.id} answered {len(answers)}")
        scored.append(ScoredAnswers(metric, right, answers))
    return scored


def extra_figures(fit: Fit, rows: Rows, runner: Runner) -> Mapping[str, list[Any]]:
    """Compute further figures of each row from a fit's outputs: see `Problem.extra_figures`."""
    problem = runner.plugins.tasks.find(fit.task).problem
    outputs = raw_outputs(fit, rows, runner)
    settings = decoding_settings(fit, runner)
    return problem.extra_figures(outputs, rows.table, settings)


def _trial_scores(cell: CellResult, term: Term) -> Iterator[float]:
    """Yield the score of every finished fit of all grid points."""
    predictions = cell.predictions
    if predictions is None or term.split not in cell.cell.task.named("dev"):
        return
    for fit in cell.cell.fits:
        if fit.id not in cell.lost:
            value = predictions.predict(fit, term.split).record.scores[term.metric].value
            if value is not None:
                yield value
