"""What a study's table claims: one family of tests, intervals that agree with marks, and words where means mislead."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchrunner import ACCURACY
from benchrunner.engine import Outcome
from benchrunner.results import Grid, Result, compared
from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.intervals import share_interval
from benchrunner.studies.pairs import Pairing
from benchrunner.studies.study import Column, Study, System
from benchrunner_statistics import example_interval
from benchrunner_statistics.conclusions import column_kind, title_of
from benchrunner_statistics.differences import corrected_differences
from benchrunner_statistics.paired_tests import Side
from benchrunner_statistics.scored_answers import ScoredAnswers
from chancy import Chancy, chancy, compare_rates
from inline import mood, runner

SYSTEMS = ("first", "second", "third")
COLUMN = "mine/mood accuracy"


def answers(*shares: float, seed: int = 0, rows: int = 200) -> Side:
    """Draw restarts that answer such shares of the rows rightly."""
    generator = np.random.default_rng(seed)
    right = [(generator.random(rows) < share).astype(int).tolist() for share in shares]
    return Side.of_restarts(ScoredAnswers(ACCURACY, [1] * rows, restart) for restart in right)


def test_equal_answers_are_not_in_the_family_of_tests() -> None:
    scored = {"first": answers(0.6), "same": answers(0.6), "better": answers(0.8, seed=1)}
    tests, _ = corrected_differences(scored, [("same", "first"), ("better", "first")])
    better, same = tests["better", "first"], tests["same", "first"]
    assert better.adjusted_p == better.comparison.p, "one test needs no correction"
    assert (same.comparison.method, same.adjusted_p) == ("equal answers", 1.0)


@pytest.mark.parametrize("restarts", [1, 3])
def test_intervals_exclude_0_exactly_where_a_difference_is_clear(restarts: int) -> None:
    seen = set()
    for seed in range(30):
        scored = {"first": answers(*[0.7] * restarts, seed=seed)}
        for number in range(4):
            scored[f"system {number}"] = answers(*[0.7 + 0.05 * number] * restarts, seed=100 + 10 * seed + number)
        tests, _ = corrected_differences(scored, [(name, "first") for name in scored if name != "first"])
        for test in tests.values():
            low, high = test.comparison.low, test.comparison.high
            assert test.is_clear == (low >= 0 or high <= 0)
            assert low <= test.comparison.difference <= high
            seen.add(test.is_clear)
    assert seen == {True, False}


def test_fits_without_randomness_speak_for_other_seeds(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    made.plugins.methods.find("chancy").is_random = False
    cells = []
    for system, rate in (("weak", 4), ("strong", 40)):
        (cell,) = compare_rates(made, grid=Grid({"lr": (rate,)}), seeds=(0,)).cells
        cells.append(replace(cell, cell=replace(cell.cell, system=system)))
    study = compared(("weak", "strong"), [cells[0].cell.task])
    claims = {test.comparison.claim for test in Result(study, tuple(cells), {}).statistics.tests.values()}
    assert claims == {"backbones"}


def test_columns_of_two_dev_splits_have_different_titles() -> None:
    columns = tuple(Column(f"{split} accuracy", "mnli", split, label="mnli") for split in ("matched", "mismatched"))
    study = Study((System("a", "a"),), columns)
    assert [title_of(column, Result(study, (), {})) for column in columns] == ["mnli (matched)", "mnli (mismatched)"]
    assert column_kind(Result(study, (), {})) == "column"
    assert title_of(columns[0], Result(Study(study.systems, columns[:1]), (), {})) == "mnli"


def test_systems_with_the_same_fits_are_tested_once(tmp_path: Path) -> None:
    """Two systems that select the learning rate 4 are compared with one that selects 8."""
    made = chancy(tmp_path)
    (best,) = compare_rates(made, grid=Grid({"lr": (8,)})).cells
    (other,) = compare_rates(made, grid=Grid({"lr": (4,)})).cells
    cells = [
        replace(cell, cell=replace(cell.cell, system=name))
        for name, cell in zip(SYSTEMS, (best, other, other), strict=True)
    ]
    study = compared(SYSTEMS, (best.cell.task,))
    statistics = Result(study, tuple(cells), {}, runner=made).statistics
    second, third = (Pairing(name, "first", COLUMN) for name in SYSTEMS[1:])
    assert statistics.tests[third] is statistics.tests[second]
    assert Pairing("third", "second", COLUMN) not in statistics.tests
    assert statistics.family == 1
    ranks = statistics.ranks[COLUMN]
    assert ranks["second"] == ranks["third"], "two equal systems tie"
    assert statistics.tests[second].adjusted_p == statistics.tests[second].comparison.p


def test_a_task_with_clusters_has_the_interval_of_clusters(tmp_path: Path) -> None:
    """The labels serve as clusters here: two, so that the table says that they are few."""
    made = runner(tmp_path, register_methods=[Chancy()], register_tasks=[mood(method="chancy", clusters="label")])
    result = compare_rates(made, grid=Grid({"lr": (4,)}))
    statistics = result.statistics
    (cell,) = result.cells
    gold = made.planner.rows(cell.cell.task, "dev").table.column("label").to_pylist()
    restarts = [cell.predicted(fit, "dev").answers for fit in cell.restarts]
    place = ("words", COLUMN)
    assert statistics.intervals[place] == example_interval(ACCURACY, gold, restarts, clusters=gold)
    assert any(" rows are of 2 different values of 'label'; " in note for note in footnotes(result))


def test_different_numbers_of_grid_points_are_said(rates_compared: Result) -> None:
    result = rates_compared
    (cell,) = result.cells
    other = replace(cell, cell=replace(cell.cell, system="other", candidates=cell.cell.candidates[1:]))
    study = compared(("words", "other"), (cell.cell.task,))
    both = replace(result, study=study, cells=(cell, other))
    [said] = [note for note in footnotes(both) if "the choice on dev favours" in note]
    assert "words 2 grid points, 6 fits" in said and "other 1 grid point, 3 fits" in said
    assert not any("different budgets" in note for note in footnotes(result))


def test_restarts_that_collapse_are_counted_with_an_interval(tmp_path: Path) -> None:
    made = chancy(tmp_path, endings={1: Outcome(status="diverged", reason="the loss is nan")})
    result = compare_rates(made, grid=Grid({"lr": (8,)}))
    assert result.cells[0].collapsed == 2, "another one is no better than the majority"
    (note,) = (note for note in footnotes(result) if "learned nothing or have no score" in note)
    low, high = (100 * end for end in (share_interval(2, 3).low, share_interval(2, 3).high))
    assert f"(95 % interval of their share: {low:.0f} to {high:.0f} %)" in note


def test_a_share_has_the_interval_of_clopper_and_pearson() -> None:
    from scipy.stats import binomtest

    for count, total in ((0, 3), (1, 3), (3, 3), (2, 10)):
        expected = binomtest(count, total).proportion_ci()
        interval = share_interval(count, total)
        assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
