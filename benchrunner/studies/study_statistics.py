"""Statistics of a finished study: intervals of every figure, and tests between systems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, final

from benchrunner.data.rows import Rows
from benchrunner.errors import BenchrunnerError, Undefined, first_line
from benchrunner.fits.fit import Fit
from benchrunner.metrics import ANSWERS, gold_rows
from benchrunner.runs.predicting import decoding_settings, raw_outputs
from benchrunner.runs.runner import Runner
from benchrunner.statistics import Chance, Comparison, Interval, chance_of_better, expected_best, holm
from benchrunner.statistics.intervals import FEW_CLUSTERS, interval_of_scored
from benchrunner.statistics.paired_test import Side, compare_sides, half_width
from benchrunner.statistics.scored_answers import ScoredAnswers, cluster_numbers, effective_number
from benchrunner.studies.cells import CellResult
from benchrunner.studies.study import Column, Place, Study
from benchrunner.tasks.task import Term

ALPHA = 0.05
"""Level of the tests: the probability of even one false mark in a table is at most this."""
RESAMPLES_OF_A_TEST = 80
"""Permutations for each test of a family, at least: the smallest p-value, 2 / (permutations + 1), is then half of what
Holm's correction asks of the first test."""
K = TypeVar("K")


@final
@dataclass(frozen=True)
class SystemDifference:
    """The difference of a system from the one that it is compared with, in a column."""

    comparison: Comparison
    """The first answers are the system's, so that a positive difference is in favour of the system. The interval is
    corrected for all tests of the study, and contains 0 unless the difference is clear."""
    adjusted_p: float
    """The p-value after Holm's correction for all tests of the study."""
    chance: Chance | None = None
    """The probability that a new fit of the system beats one of the other; None without several fits of both. Fits
    without a score are the worst."""
    margin: float | None = None
    """The largest difference that counts as equivalent, on the scale of the metric's values; None if none is given."""

    @property
    def is_clear(self) -> bool:
        """Whether the difference survives Holm's correction."""
        return self.adjusted_p < ALPHA

    @property
    def is_equivalent(self) -> bool | None:
        """Whether the corrected interval lies within the margin; None without a margin."""
        return None if self.margin is None else self.comparison.is_equivalent(self.margin)

    def as_json(self) -> dict[str, Any]:
        """Return the test as JSON values."""
        facts = {**vars(self.comparison), "adjusted_p": self.adjusted_p, "is_clear": self.is_clear}
        del facts["parts"]
        facts |= {"detectable": self.comparison.detectable, "chance_of_better": self.chance}
        return {**facts, "is_equivalent": self.is_equivalent}


@final
@dataclass(frozen=True)
class Clusters:
    """The clusters of a column's rows, of which intervals and tests speak."""

    name: str
    """Column of the rows with the ids of the clusters, for example `article`."""
    number: int
    rows: int
    effective: float
    """How many clusters of equal size tell as much."""

    @property
    def are_few(self) -> bool:
        """Whether intervals are wide and differences hard to show, because the clusters are few."""
        return self.effective < FEW_CLUSTERS


@final
@dataclass(frozen=True)
class StudyStatistics:
    """Statistics of a study, by system and column. All of them use every restart at the chosen grid point."""

    intervals: Mapping[Place, Interval] = field(default_factory=dict)
    """Interval of the mean score over other examples, for these restarts; on the scale of the metric's values."""
    tests: Mapping[Place, SystemDifference] = field(default_factory=dict)
    """Tests of the study's contrasts; without any, of every arm or system against the first with figures in the column.
    Systems that belong to arms are tested only where a contrast names them."""
    firsts: Mapping[Place, str] = field(default_factory=dict)
    """The arm or the system with which a figure is compared."""
    trials: Mapping[Place, Sequence[float]] = field(default_factory=dict)
    """The best score to expect of 1, 2, ... trials, which are the finished fits of all grid points."""
    clusters: Mapping[str, Clusters] = field(default_factory=dict)
    """Column -> the clusters of its rows, where the task declares some."""
    absent: Mapping[Place, str] = field(default_factory=dict)
    """Why there is no interval over examples, or no test."""

    @property
    def family(self) -> int:
        """The number of tests over which Holm corrects: not those of equal answers, and each once."""
        different = {id(test): test for test in self.tests.values() if test.comparison.parts}
        return len(different)

    def by_pair(self) -> dict[Place, dict[str, SystemDifference]]:
        """Map each two systems that are compared to their tests by column."""
        pairs: dict[Place, dict[str, SystemDifference]] = {}
        for place, test in self.tests.items():
            system, column = place
            of_pair = pairs.setdefault((system, self.firsts[place]), {})
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
    clusters = {}
    for place, of_place in scored.items():
        units = of_place[0].clusters
        if units is not None:
            name = cells[place].cell.task.clusters
            clusters[place[1]] = Clusters(name, int(units.max()) + 1, len(units), effective_number(units))
    sides = _sides(study, scored)
    firsts = _compared_with(study, sides)
    fits = {place: _fits(study, place, cells) for place in sides}
    tests, untested = differences_with_holm(sides, _pairs(study, fits, firsts))
    columns = {column.name: column for column in study.columns}
    for place, test in tests.items():
        name, column = place[0], columns[place[1]]
        cell = cells[study.members(name)[0], column.name]
        scale = cell.figures[column.term(cell.cell.task)].scale
        margin = None if study.margin is None else study.margin / scale
        first = (firsts[place], column.name)
        chance = None
        if place in cells and first in cells:
            chance = _chance(cell, cells[first], column)
        tests[place] = replace(test, chance=chance, margin=margin)
    known = {_pair(place, firsts[place], fits): test for place, test in tests.items()}
    for place, name in firsts.items():  # systems with the same fits have the same test
        if (name, place[1]) in fits and _pair(place, name, fits) in known:
            tests[place] = known[_pair(place, name, fits)]
    return StudyStatistics(intervals, tests, firsts, trials, clusters, absent | untested)


def _sides(study: Study, scored: Mapping[Place, Sequence[ScoredAnswers]]) -> dict[Place, Side]:
    """Return what can be compared in each column: the arms whose systems all have answers, then the systems."""
    sides = {}
    for column in study.columns:
        for arm, systems in study.arms.items():
            places = [(system, column.name) for system in systems]
            if scored.keys() >= set(places):
                sides[arm, column.name] = Side.of_arm([scored[place] for place in places])
    for place, restarts in scored.items():
        sides[place] = Side.of_restarts(restarts)
    return sides


def _fits(study: Study, place: Place, cells: Mapping[Place, CellResult]) -> list[str]:
    """List the ids of the fits of a system, or of all systems of an arm, in a column."""
    ids = []
    for system in study.members(place[0]):
        ids += [fit.id for fit in cells[system, place[1]].restarts]
    return ids


def _chance(cell: CellResult, other: CellResult, column: Column) -> Chance | None:
    """Estimate the chance that a new fit of a cell beats one of another system's cell; None for single fits."""
    sides = []
    for side in (cell, other):
        values = side.figures[column.term(side.cell.task)].values
        lost = len(side.chosen_fits) - len(side.restarts)
        sides.append([*values, *[-math.inf] * lost])
    ours, theirs = sides
    return chance_of_better(ours, theirs) if min(len(ours), len(theirs)) > 1 else None


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
    sides: Mapping[K, Side], pairs: Iterable[tuple[K, K]]
) -> tuple[dict[K, SystemDifference], dict[K, str]]:
    """Test pairs of systems or arms, with Holm's correction over the tests that can find a difference.

    Where all answers of two systems are equal, nothing is tested. The second value has the reasons why there is no
    test.
    """
    pairs = list(pairs)
    resamples = RESAMPLES_OF_A_TEST * len(pairs)
    comparisons: dict[K, Comparison] = {}
    absent = {}
    for key, first in pairs:
        if key in sides and first in sides:
            try:
                comparisons[key] = compare_sides(sides[key], sides[first], at_least=resamples)
            except Undefined as reason:
                absent[key] = first_line(reason)
    tested = {key: comparison for key, comparison in comparisons.items() if comparison.parts}
    adjusted = holm({key: comparison.p for key, comparison in tested.items()})
    differences = {}
    for key, comparison in comparisons.items():
        adjusted_p = adjusted.get(key, 1.0)
        corrected = _corrected(comparison, len(tested), is_clear=adjusted_p < ALPHA)
        differences[key] = SystemDifference(corrected, adjusted_p)
    return differences, absent


def _corrected(comparison: Comparison, tests: int, *, is_clear: bool) -> Comparison:
    """Return a comparison whose interval holds together with those of all tests, and says what the mark says.

    The interval is Bonferroni's. Holm's correction is less strict, and single fits have a test of their own, so that
    the interval may contain 0 although the difference is clear, or the reverse: then it ends at 0.
    """
    if not comparison.parts:
        return comparison
    alpha = ALPHA / tests
    half = half_width(comparison.parts, alpha)
    low = comparison.difference - half
    high = comparison.difference + half
    if not is_clear:
        low = min(low, 0.0)
        high = max(high, 0.0)
    elif comparison.difference > 0:
        low = max(low, 0.0)
    else:
        high = min(high, 0.0)
    return replace(comparison, low=low, high=high, confidence=1 - alpha)


def _compared_with(study: Study, sides: Iterable[Place]) -> dict[Place, str]:
    """Map each figure that is tested to the arm or the system that it is compared with.

    The study's contrasts say which. Without any, it is the column's first: of the arms, or of the systems without arms.
    """
    contrasts = dict(study.contrasts)
    tested = set(study.arms or study.names)
    firsts = dict[str, str]()
    compared = {}
    for name, column in sides:
        if name in contrasts:
            compared[name, column] = contrasts[name]
        elif not contrasts and name in tested:
            first = firsts.setdefault(column, name)
            if name != first:
                compared[name, column] = first
    return compared


def _pairs(
    study: Study, fits: Mapping[Place, Sequence[str]], firsts: Mapping[Place, str]
) -> Iterator[tuple[Place, Place]]:
    """Yield which figures are compared: each with that of `firsts`, unless the fits are the same.

    `fits` has the ids of the fits of everything that can be compared. The fits of several systems are the same where
    the method does not read the backbone; these are tested once. These pairs are the family of tests over which Holm
    corrects.
    """
    tested = {column.name for column in study.columns if column.is_tested}
    known = set[tuple[str, ...]]()
    for place, name in firsts.items():
        first = (name, place[1])
        if place[1] not in tested or first not in fits or fits[place] == fits[first]:
            continue
        pair = _pair(place, name, fits)
        if pair not in known:
            known.add(pair)
            yield place, first


def _pair(place: Place, first: str, fits: Mapping[Place, Sequence[str]]) -> tuple[str, ...]:
    """Return what tells a test from others: the column, and the fits of both sides."""
    column = place[1]
    return (column, *fits[place], "", *fits[first, column])


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
    clusters = None
    if task.clusters in rows.table.column_names:
        clusters = cluster_numbers(rows.table.column(task.clusters).to_pylist())
    scored = []
    for fit in cell.restarts:
        if metric.computed_from == ANSWERS:
            answers = cell.predictions.predict(fit, term.split).answers
        else:
            answers = extra_figures(fit, rows, runner)[metric.computed_from]
        if len(answers) != len(right):
            raise Undefined(f"{rows.origin} has {len(right)} rows now, and the fit {fit.id} answered {len(answers)}")
        scored.append(ScoredAnswers(metric, right, answers, clusters))
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
