"""Statistics of a finished study: intervals of every score, and tests of every backbone against the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, final

from benchrunner.errors import BenchrunnerError, Undefined, first_line
from benchrunner.metrics import ANSWERS, Metric, gold_rows
from benchrunner.runs.predicting import decoding_settings, raw_outputs
from benchrunner.runs.runner import Runner
from benchrunner.statistics import Comparison, Interval, expected_best, holm, restart_interval
from benchrunner.statistics.intervals import interval_of_scored
from benchrunner.statistics.paired_test import compare_scored
from benchrunner.statistics.scored_answers import ScoredAnswers
from benchrunner.studies.kept.predictions import NotedPredictions
from benchrunner.studies.predictions import Predictions
from benchrunner.studies.study import CellResult, Result
from benchrunner.tasks.suites import Term

ALPHA = 0.05
"""Level of the tests: the probability of even one false mark in a table is at most this."""

Key = tuple[str, Term]
"""A backbone, and a metric of a task on a dev split."""
K = TypeVar("K")


@final
@dataclass(frozen=True)
class BackboneDifference:
    """The difference of a backbone from the first backbone of the study."""

    comparison: Comparison
    """The first answers are the backbone's, so that a positive difference is in favour of the backbone."""
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
    """Statistics of a study, by backbone and term. All of them use every restart at the chosen grid point."""

    examples: Mapping[Key, Interval] = field(default_factory=dict)
    """Interval of the mean score over other examples, for these restarts."""
    restarts: Mapping[Key, Interval] = field(default_factory=dict)
    """Interval of the mean score over other restarts, for these examples."""
    tests: Mapping[Key, BackboneDifference] = field(default_factory=dict)
    """Tests of the headline metric on every dev split, for every backbone but the first."""
    trials: Mapping[Key, Sequence[float]] = field(default_factory=dict)
    """The best headline score to expect of 1, 2, ... trials, which are the finished fits of all grid points."""
    absent: Mapping[Key, str] = field(default_factory=dict)
    """Why there is no interval over examples, or no test."""


def study_statistics(result: Result, runner: Runner, predictions: Predictions | None = None) -> StudyStatistics:
    """Compute the statistics of a finished study from the answers of its fits. Nothing is fitted.

    `predictions` gives the answers, by default the runner. Where the data is no longer there, or a score has no value,
    the statistic is absent with the reason.
    """
    predictions = predictions or NotedPredictions(runner)
    scored, absent = dict[Key, Sequence[ScoredAnswers]](), dict[Key, str]()
    examples, restarts, trials = dict[Key, Interval](), dict[Key, Interval](), dict[Key, Sequence[float]]()
    for cell in _first_cells(result):
        backbone = cell.cell.backbone
        for term, spread in cell.spreads.items():
            if (interval := restart_interval(spread.values)) is not None and spread.mean.value is not None:
                restarts[backbone, term] = interval
        for term, metric in _terms(cell):
            try:
                scored[backbone, term] = scored_answers(cell, term, metric, runner, predictions)
                examples[backbone, term] = interval_of_scored(scored[backbone, term])
            except (BenchrunnerError, ValueError) as reason:
                absent[backbone, term] = first_line(reason)
        for term in headlines(cell):
            trials[backbone, term] = tuple(expected_best(list(_trial_scores(cell, term, predictions))))
    tests, reasons = differences_with_holm(scored, _pairs(result))
    return StudyStatistics(examples, restarts, tests, trials, absent | reasons)


def differences_with_holm(
    scored: Mapping[K, Sequence[ScoredAnswers]], pairs: Iterable[tuple[K, K]]
) -> tuple[dict[K, BackboneDifference], dict[K, str]]:
    """Test pairs of a backbone and the first backbone, with Holm's correction over all of them.

    The second value has the reasons why there is no test.
    """
    comparisons, absent = dict[K, Comparison](), dict[K, str]()
    for key, first in pairs:
        if key in scored and first in scored:
            try:
                comparisons[key] = compare_scored(scored[key], scored[first])
            except Undefined as reason:
                absent[key] = first_line(reason)
    adjusted = holm({key: comparison.p for key, comparison in comparisons.items()})
    return {key: BackboneDifference(comparison, adjusted[key]) for key, comparison in comparisons.items()}, absent


def _pairs(result: Result) -> Iterator[tuple[Key, Key]]:
    """Yield what is tested: the headline terms of every backbone but the first, each with that of the first.

    Where the method does not read the backbone, all backbones have the same fits, and there is nothing to test.
    """
    first = result.study.names[0]
    for cell in _first_cells(result):
        fits = [fit.id for fit in cell.cell.fits]
        if cell.cell.backbone != first and fits != [fit.id for fit in result.of(first, cell.cell.task.name).cell.fits]:
            for term in headlines(cell):
                yield (cell.cell.backbone, term), (first, term)


def _first_cells(result: Result) -> Iterator[CellResult]:
    """Yield the first cell of each backbone and task; a study file may select from the same fits several times."""
    seen = set[tuple[str, str]]()
    for cell in result.cells:
        name = (cell.cell.backbone, cell.cell.task.name)
        if name not in seen:
            seen.add(name)
            yield cell


def headlines(cell: CellResult) -> list[Term]:
    """List the headline metric of a cell's task on each of its dev splits."""
    task = cell.cell.task
    return [Term(task.name, split, task.metrics[0].name) for split in task.named("dev")]


def _terms(cell: CellResult) -> Iterator[tuple[Term, Metric]]:
    """Yield the terms that tables show and that have a score, with their metrics."""
    task = cell.cell.task
    for split in task.named("dev"):
        for metric in task.metrics:
            term = Term(task.name, split, metric.name)
            if not metric.detail and term in cell.spreads:
                yield term, metric


def scored_answers(
    cell: CellResult, term: Term, metric: Metric, runner: Runner, predictions: Predictions
) -> list[ScoredAnswers]:
    """Return the answers of all restarts at the chosen grid point, with the gold answers."""
    task, rows = cell.cell.task, runner.planner.rows(cell.cell.task, term.split)
    gold = task.problem.gold(rows.table)
    if gold is None:
        raise Undefined(f"{rows.origin} has no labels")
    right = gold_rows(metric, gold, rows.table)
    scored = []
    for fit in cell.restarts:
        if metric.computed_from == ANSWERS:
            answers = predictions.predict(fit, term.split).answers
        else:
            outputs, settings = raw_outputs(fit, rows, runner), decoding_settings(fit, runner)
            answers = task.problem.extra_figures(outputs, rows.table, settings)[metric.computed_from]
        if len(answers) != len(right):
            raise Undefined(f"{rows.origin} has {len(right)} rows now, and the fit {fit.id} answered {len(answers)}")
        scored.append(ScoredAnswers(metric, right, answers))
    return scored


def _trial_scores(cell: CellResult, term: Term, predictions: Predictions) -> Iterator[float]:
    """Yield the score of every finished fit of all grid points."""
    for fit in cell.cell.fits:
        if fit.id not in cell.lost:
            value = predictions.predict(fit, term.split).record.scores[term.metric].value
            if value is not None:
                yield value
