"""Statistics of a finished study: intervals of every figure, and tests between systems."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Literal, final

from benchrunner.errors import BenchrunnerError, Undefined, first_line
from benchrunner.metrics import ANSWERS, gold_rows
from benchrunner.runs.predicting import extra_figures
from benchrunner.statistics import Chance, Interval, chance_of_better, expected_best
from benchrunner.statistics.intervals import FEW_CLUSTERS, interval_of_scored
from benchrunner.statistics.paired_test import Side
from benchrunner.statistics.ranks import MeanRank, Ranks, mean_ranks, ranks
from benchrunner.statistics.scored_answers import ScoredAnswers, cluster_numbers, effective_number
from benchrunner.studies.cells import CellResult
from benchrunner.studies.significance.differences import (
    Pairing,
    SystemDifference,
    corrected_differences,
    shares,
)
from benchrunner.studies.study import Column, Place, Study
from benchrunner.tasks.task import Term

Standing = Literal["best", "tied", "better", "worse", "mixed", ""]
"""What tests say of a figure: all others are clearly behind, or not clearly worse than any; with contrasts, clearly
better or worse than what it is compared with, or better than one and worse than another."""
CLEAR, TIED = "*", "="
"""Marks of a clear difference or of the best figure, and of figures that are tied for best. Those of single fits stand
in parentheses."""


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
    tests: Mapping[Pairing, SystemDifference] = field(default_factory=dict)
    """Tests of the study's contrasts; without any, of all pairs of arms, or of systems, with figures in a column.
    Systems that belong to arms are tested only where a contrast names them."""
    family: int = 0
    """The number of different tests over which p-values are corrected, not those of equal answers."""
    ranks: Mapping[Place, Ranks] = field(default_factory=dict)
    """The ranks in each column, where all pairs of systems or arms are compared."""
    mean_ranks: Mapping[str, MeanRank] = field(default_factory=dict)
    """The mean rank of each system or arm over the tested columns in which all that are ranked have figures."""
    trials: Mapping[Place, Sequence[float]] = field(default_factory=dict)
    """The best score to expect of 1, 2, ... trials, which are grid points with the mean over their finished fits."""
    clusters: Mapping[str, Clusters] = field(default_factory=dict)
    """Column -> the clusters of its rows, where the task declares some."""
    absent: Mapping[Place, str] = field(default_factory=dict)
    """Why there is no interval over examples, or no test."""

    def by_pair(self) -> dict[tuple[str, str], dict[str, SystemDifference]]:
        """Map each two systems that are compared to their tests by column."""
        pairs: dict[tuple[str, str], dict[str, SystemDifference]] = {}
        for (system, other, column), test in self.tests.items():
            of_pair = pairs.setdefault((system, other), {})
            of_pair[column] = test
        return pairs

    @cached_property
    def is_ranking(self) -> bool:
        """Whether all pairs of three or more systems or arms are compared, so that figures are best or tied for best.

        Of two systems, and by contrasts, the first of a pair is better or worse.
        """
        return len({name for name, _ in self.ranks}) > 2

    def standing(self, place: Place) -> Standing:
        """Say how the figure of a system compares with those of the others by the tests; empty if no test is clear."""
        if self.is_ranking:
            own = self.ranks.get(place)
            if own is None or not own.is_best or self._best[place[1]] == self._ranked[place[1]]:
                return ""
            return "best" if self._best[place[1]] == 1 else "tied"
        clear = self._clear.get(place, {})
        return next(iter(clear)) if len(clear) == 1 else "mixed" if clear else ""

    @cached_property
    def _ranked(self) -> Counter[str]:
        """Column -> the number of systems or arms with ranks."""
        return Counter(column for _, column in self.ranks)

    @cached_property
    def _best(self) -> Counter[str]:
        """Column -> the number of those that may be the best."""
        return Counter(column for (_, column), rank in self.ranks.items() if rank.is_best)

    @cached_property
    def _clear(self) -> Mapping[Place, Mapping[Standing, None]]:
        """Figure -> what the clear tests say of it where it is the first of a pair."""
        standings = defaultdict[Place, dict[Standing, None]](dict)
        for (system, _, column), test in self.tests.items():
            if test.is_clear:
                standings[system, column]["better" if test.comparison.gain > 0 else "worse"] = None
        return standings

    def mark(self, place: Place) -> str:
        """Return the mark of what the tests say of a figure; empty if they show nothing."""
        standing = self.standing(place)
        if not standing:
            return ""
        mark = TIED if standing == "tied" else CLEAR
        is_of_fits = any(test.comparison.claim == "fits" for test in self.of_places[place].values())
        return f"({mark})" if is_of_fits else mark

    @cached_property
    def of_places(self) -> Mapping[Place, Mapping[str, SystemDifference]]:
        """Figure -> the systems with which it is compared -> the difference of the figure from theirs."""
        differences = defaultdict[Place, dict[str, SystemDifference]](dict)
        for pairing, test in self.tests.items():
            ours, theirs = pairing.places
            differences[ours][pairing.other] = test
            differences[theirs][pairing.system] = test.reversed
        return differences


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
            trials[place] = tuple(_expected_best(cell, term))
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
    earlier = [_sides(study, _first_restarts(scored, cells, number)) for number in study.looks[:-1]]
    pairings = list(_pairings(study, sides))
    tests, family, untested = _tests(study, cells, [*earlier, sides], pairings)
    of_columns = {}
    of_places = {}
    for column in () if study.contrasts else study.columns:
        of_columns[column.name] = _ranks(study, column, sides, tests)
        for name, rank in of_columns[column.name].items():
            of_places[name, column.name] = rank
    means = _mean_ranks(sides, of_columns)
    absent |= untested
    return StudyStatistics(intervals, tests, family, of_places, means, trials, clusters, absent)


def _pairings(study: Study, sides: Mapping[Place, Side]) -> Iterator[Pairing]:
    """Yield which systems or arms are compared in which columns."""
    places = []
    for pair in study.pairs:
        places += study.points(*pair) or [(None, *pair)]
    for column in study.columns:
        if not column.is_tested:
            continue
        for _, system, other in places:
            pairing = Pairing(system, other, column.name)
            if sides.keys() >= set(pairing.places):
                yield pairing


def _tests(
    study: Study,
    cells: Mapping[Place, CellResult],
    looks: Sequence[Mapping[Place, Side]],
    pairings: Sequence[Pairing],
) -> tuple[dict[Pairing, SystemDifference], int, dict[Place, str]]:
    """Test the pairings, and return the tests, the number of different ones, and why some are absent.

    `looks` has the sides at each look of the study, at last with all restarts.

    The fits of several systems are the same where the method does not read the backbone: these systems are not compared
    with each other, and have the same tests with others.
    """
    firsts = dict[tuple[str, ...], Place]()
    same = {}
    for place in looks[-1]:
        fits = (place[1], *_fits(study, place, cells))
        same[place] = firsts.setdefault(fits, place)
    asked = dict[tuple[Place, Place], None]()
    for pairing in pairings:
        ours, theirs = (same[place] for place in pairing.places)
        if ours != theirs and (theirs, ours) not in asked:
            asked[ours, theirs] = None
    differences, absent = corrected_differences(looks[-1], asked, earlier=looks[:-1], of_looks=shares(study.looks))
    columns = {column.name: column for column in study.columns}
    of_places = {}
    for (ours, theirs), difference in differences.items():
        test = _with_facts(difference, study, cells, ours, theirs, columns[ours[1]])
        of_places[ours, theirs] = test
    tests = {}
    for pairing in pairings:
        ours, theirs = (same[place] for place in pairing.places)
        if (ours, theirs) in of_places:
            tests[pairing] = of_places[ours, theirs]
        elif (theirs, ours) in of_places:
            tests[pairing] = of_places[theirs, ours].reversed
    family = sum(bool(test.comparison.parts) for test in differences.values())
    return tests, family, {ours: reason for (ours, _), reason in absent.items()}


def _with_facts(
    test: SystemDifference,
    study: Study,
    cells: Mapping[Place, CellResult],
    ours: Place,
    theirs: Place,
    column: Column,
) -> SystemDifference:
    """Add the study's margin and the chance of a better fit to a test; fits without randomness speak for others."""
    own = [cells[name, column.name] for name in (*study.members(ours[0]), *study.members(theirs[0]))]
    cell = own[0]
    scale = cell.figures[column.term(cell.cell.task)].scale
    margin = None if study.margin is None else study.margin / scale
    chance = None
    if ours in cells and theirs in cells:
        chance = _chance(cells[ours], cells[theirs], column)
        if not cells[ours].is_random and not cells[theirs].is_random:
            test = replace(test, comparison=replace(test.comparison, claim="backbones"))
    has_learned = any(cell.collapsed < len(cell.chosen_fits) for cell in own)
    return replace(test, chance=chance, margin=margin, has_learned=has_learned)


def _ranks(
    study: Study, column: Column, sides: Mapping[Place, Side], tests: Mapping[Pairing, SystemDifference]
) -> dict[str, Ranks]:
    """Return the ranks of the compared systems or arms in a column; none for a single one, or if nothing is tested."""
    names = [name for name in study.compared if (name, column.name) in sides]
    if not column.is_tested or len(names) < 2:
        return {}
    clear = set()
    for (system, other, name), test in tests.items():
        if name == column.name and test.is_clear:
            clear.add((system, other) if test.comparison.gain > 0 else (other, system))
    return ranks(names, clear)


def _mean_ranks(sides: Mapping[Place, Side], of_columns: Mapping[str, Mapping[str, Ranks]]) -> dict[str, MeanRank]:
    """Return the mean ranks over the columns in which all systems or arms that are ranked anywhere have ranks."""
    everyone = set[str]().union(*of_columns.values())
    scores = []
    intervals = []
    for column, of_column in of_columns.items():
        if of_column and of_column.keys() == everyone:
            scores.append({name: sides[name, column].gain for name in of_column})
            intervals.append(of_column)
    return mean_ranks(scores, intervals)


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


def _first_restarts(
    scored: Mapping[Place, Sequence[ScoredAnswers]], cells: Mapping[Place, CellResult], number: int
) -> dict[Place, Sequence[ScoredAnswers]]:
    """Return the answers of the first restarts alone, as they were at a look; some may have no scores."""
    of_first = {}
    for place, answers in scored.items():
        first = cells[place].chosen_fits[:number]
        finished = sum(fit.id not in cells[place].lost for fit in first)
        of_first[place] = answers[:finished]
    return of_first


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
        figure = side.figures[column.term(side.cell.task)]
        lost = len(side.chosen_fits) - len(side.restarts)
        sides.append([*map(figure.gain, figure.values), *[-math.inf] * lost])
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


def _expected_best(cell: CellResult, term: Term) -> Iterator[float]:
    """Yield the best score to expect of 1, 2, ... trials."""
    metric = cell.cell.task.metric(term.metric)
    gains = map(metric.gain, _trial_scores(cell, term))
    return map(metric.gain, expected_best(list(gains)))


def _trial_scores(cell: CellResult, term: Term) -> Iterator[float]:
    """Yield the mean score of every grid point over its finished fits."""
    predictions = cell.predictions
    if predictions is None or term.split not in cell.cell.task.named("dev"):
        return
    for point in cell.cell.candidates:
        scores = []
        for fit in point.fits:
            if fit.id not in cell.lost:
                value = predictions.predict(fit, term.split).record.scores[term.metric].value
                if value is not None:
                    scores.append(value)
        if scores:
            yield fmean(scores)


def scored_answers(cell: CellResult, term: Term) -> list[ScoredAnswers]:
    """Return the answers of all restarts of a cell at the chosen grid point, with the gold answers."""
    if cell.runner is None or cell.predictions is None:
        raise Undefined("the result has no runner, so that answers cannot be read")
    task, runner = cell.cell.task, cell.runner
    metric = task.metric(term.metric)
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
        scored.append(ScoredAnswers(metric, right, answers, clusters, max(1, fit.folds)))
    return scored
