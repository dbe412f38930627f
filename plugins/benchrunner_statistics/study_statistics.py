"""Statistics of a finished study: intervals of every figure, and tests between systems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean

from benchrunner import BenchrunnerError, Term, Undefined, gold_rows
from benchrunner.engine import first_line, metrics
from benchrunner.results import CellResult, Result, Study, entries, pairs, predicting, study as parts
from benchrunner_statistics.conclusions import caveats, conclusions
from benchrunner_statistics.differences import corrected_differences, shares
from benchrunner_statistics.example_intervals import FEW_CLUSTERS, expected_best, interval_of_scored
from benchrunner_statistics.paired_tests import Side
from benchrunner_statistics.ranks import mean_ranks, ranks
from benchrunner_statistics.scored_answers import ScoredAnswers, cluster_numbers, effective_number
from benchrunner_statistics.series import lines
from benchrunner_statistics.study_notes import study_notes

Place = parts.Place


def study_statistics(result: Result) -> entries.Statistics:
    """Compute the statistics of a finished study from the answers of its fits. Nothing is fitted.

    Where the data is no longer there, or a score has no value, the statistic is absent with the reason. Results without
    a runner have no statistics.
    """
    study, cells = result.study, result.cell_at
    scored = {}
    absent = {}
    intervals = {}
    trials = {}
    for column, place, cell in _figures_of_fits(study, cells):
        term = column.term(cell.cell.task)
        if column.is_tested:
            trials[place] = tuple(_expected_best(cell, term))
        figure = cell.figures.get(term)
        is_wanted = column.is_tested or term.split in cell.cell.task.named("dev")
        if figure is None or figure.mean.value is None or not is_wanted:
            continue
        try:
            scored[place] = scored_answers(cell, term)
            intervals[place] = interval_of_scored(scored[place])
        except (BenchrunnerError, ValueError) as reason:
            absent[place] = first_line(reason)
    few_clusters = []
    for place, of_place in scored.items():
        units = of_place[0].clusters
        if units is not None and effective_number(units) < FEW_CLUSTERS:
            said = (
                f"the {len(units):,} rows are of {int(units.max()) + 1} different values of "
                f"'{cells[place].cell.task.clusters}'; intervals and tests ask about others, "
                "of which so few tell little"
            )
            few_clusters.append((said, place[1]))
    sides = _sides(study, scored)
    earlier = [_sides(study, _first_restarts(scored, cells, number)) for number in study.looks[:-1]]
    pairings = list(_pairings(study, sides))
    tests, family, untested = _tests(study, cells, [*earlier, sides], pairings)
    of_columns = {} if study.contrasts else _ranks(study, sides, tests)
    means = _mean_ranks(sides, of_columns)
    return entries.Statistics(
        intervals,
        tests,
        family,
        of_columns,
        means,
        trials,
        caveats=tuple(caveats(study, tests)),
        say=conclusions,
        series=lines,
        notes=partial(study_notes, few_clusters, absent | untested),
    )


def _pairings(study: Study, sides: Mapping[Place, Side]) -> Iterator[pairs.Pairing]:
    """Yield which systems or arms are compared in which columns; two series are compared where both have a point."""
    systems = []
    for name, other in study.pairs:
        ours, theirs = study.lines.get(name, {}), study.lines.get(other, {})
        points = [(ours[at], theirs[at]) for at in ours if at in theirs]
        systems += points or [(name, other)]
    for column in study.columns:
        if not column.is_tested:
            continue
        for pair in systems:
            pairing = pairs.Pairing(*pair, column.name)
            if sides.keys() >= set(pairing.places):
                yield pairing


def _tests(
    study: Study,
    cells: Mapping[Place, CellResult],
    looks: Sequence[Mapping[Place, Side]],
    pairings: Sequence[pairs.Pairing],
) -> tuple[dict[pairs.Pairing, pairs.Pair], int, dict[Place, str]]:
    """Test the pairings, and return the tests, the number of different ones, and why some are absent.

    `looks` has the sides at each look of the study, at last with all restarts.

    The fits of several systems are the same where the method does not read the backbone: these systems are not compared
    with each other, and have the same tests with others.
    """
    firsts = dict[tuple[str, ...], Place]()
    same = {}
    for place in looks[-1]:
        fits = [place[1]]
        for system in study.members(place[0]):
            fits += [fit.id for fit in cells[system, place[1]].restarts]
        same[place] = firsts.setdefault(tuple(fits), place)
    asked = dict[tuple[Place, Place], None]()
    for pairing in pairings:
        ours, theirs = (same[place] for place in pairing.places)
        if ours != theirs and (theirs, ours) not in asked:
            asked[ours, theirs] = None
    differences, absent = corrected_differences(looks[-1], asked, earlier=looks[:-1], of_looks=shares(study.looks))
    columns = {column.name: column for column in study.columns}
    of_places = {}
    for (ours, theirs), difference in differences.items():
        of_places[ours, theirs] = _with_facts(difference, study, cells, ours, theirs, columns[ours[1]])
    tests = {}
    for pairing in pairings:
        ours, theirs = (same[place] for place in pairing.places)
        if test := of_places.get((ours, theirs)):
            tests[pairing] = test
        elif test := of_places.get((theirs, ours)):
            tests[pairing] = test.reversed
    family = sum(bool(test.comparison.parts) for test in differences.values())
    return tests, family, {ours: reason for (ours, _), reason in absent.items()}


def _with_facts(
    test: pairs.Pair,
    study: Study,
    cells: Mapping[Place, CellResult],
    ours: Place,
    theirs: Place,
    column: parts.Column,
) -> pairs.Pair:
    """Add the scale and the study's margin to a test.

    Fits without randomness speak for others.
    """
    own = [cells[name, column.name] for name in (*study.members(ours[0]), *study.members(theirs[0]))]
    cell = own[0]
    scale = cell.figures[column.term(cell.cell.task)].scale
    sides = [cells[place] for place in (ours, theirs) if place in cells]
    if len(sides) == 2 and not any(side.is_random for side in sides):  # an arm is in no cell
        test = replace(test, comparison=replace(test.comparison, claim="backbones"))
    has_learned = any(cell.collapsed < len(cell.chosen_fits) for cell in own)
    return replace(test, scale=scale, margin=study.margin, has_learned=has_learned)


def _ranks(
    study: Study, sides: Mapping[Place, Side], tests: Mapping[pairs.Pairing, pairs.Pair]
) -> dict[str, dict[str, entries.Ranks]]:
    """Return the ranks of the compared systems or arms in each tested column that has several."""
    clear = defaultdict[str, set[tuple[str, str]]](set)
    for (system, other, column), test in tests.items():
        if test.is_clear:
            clear[column].add((system, other) if test.comparison.gain > 0 else (other, system))
    of_columns = {}
    for tested in study.columns:
        names = [name for name in study.compared if (name, tested.name) in sides]
        if tested.is_tested and len(names) > 1:
            of_columns[tested.name] = ranks(names, clear[tested.name])
    return of_columns


def _mean_ranks(
    sides: Mapping[Place, Side], of_columns: Mapping[str, Mapping[str, entries.Ranks]]
) -> dict[str, entries.MeanRank]:
    """Return the mean ranks over the columns in which all systems or arms that are ranked anywhere have ranks."""
    everyone = set[str]().union(*of_columns.values())
    scores = []
    intervals = []
    for column, of_column in of_columns.items():
        if of_column.keys() == everyone:
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


def _figures_of_fits(
    study: Study, cells: Mapping[Place, CellResult]
) -> Iterator[tuple[parts.Column, Place, CellResult]]:
    """Yield the figures that summarize fits of which each answers alone, with their columns and places."""
    for column in study.columns:
        for system in study.systems:
            place = (system.name, column.name)
            cell = cells.get(place)
            if cell is not None and cell.runner is not None and not system.ensemble:
                yield column, place, cell


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
        if metric.computed_from == metrics.ANSWERS:
            answers = cell.predictions.predict(fit, term.split).answers
        else:
            answers = predicting.extra_figures(fit, rows, runner)[metric.computed_from]
        if len(answers) != len(right):
            raise Undefined(f"{rows.origin} has {len(right)} rows now, and the fit {fit.id} answered {len(answers)}")
        scored.append(ScoredAnswers(metric, right, answers, clusters, max(1, fit.folds)))
    return scored
