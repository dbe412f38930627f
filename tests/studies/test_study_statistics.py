"""Statistics of a study: intervals and tests of all restarts, and a backbone that is compared with itself."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchrunner import ACCURACY
from benchrunner.results import Grid, Result, Runner, run_study
from benchrunner.runs.predicting import predict
from benchrunner.studies.entries import Statistics
from benchrunner.studies.intervals import restart_interval
from benchrunner.tasks.task import Term
from benchrunner_statistics import example_interval, paired_test
from benchrunner_statistics.differences import corrected_differences
from benchrunner_statistics.paired_tests import Side
from benchrunner_statistics.scored_answers import ScoredAnswers
from chancy import chancy
from inline import study_with

PLACE = ("words", "mine/mood accuracy")


def study(made: Runner, *, backbones: tuple[str, ...] = ("words", "other"), **changes: Any) -> Result:
    options: dict[str, Any] = {"grid": Grid({"lr": (4, 8)}), "seeds": (0, 1, 2)} | changes
    return run_study(study_with(backbones, tuple(made.plugins.tasks.values()), **options), made)


def test_statistics_use_all_restarts_of_the_chosen_point(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = study(made, backbones=("words",))
    [cell] = result.cells
    statistics = result.statistics
    task = cell.cell.task
    gold = task.problem.gold(made.planner.rows(task, "dev").table)
    assert gold is not None
    answers = [predict(fit, "dev", made).answers for fit in cell.cell.candidates[1].fits]
    assert statistics.intervals[PLACE] == example_interval(ACCURACY, gold, answers)
    assert result.figures[PLACE].over_restarts == restart_interval([8 / 24, 16 / 24, 24 / 24], limits=(0.0, 1.0))
    assert statistics.tests == {}
    assert len(statistics.trials[PLACE]) == 2, "a trial is a grid point with its restarts"
    assert list(statistics.notes(result)) == []


def test_deleted_data_leaves_a_reason(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = study(made, backbones=("words",))
    shutil.rmtree(tmp_path / "data")
    again = chancy_runner(made)
    without = replace(result, cells=tuple(replace(cell, runner=again) for cell in result.cells))
    assert without.statistics.intervals == {}
    [said] = without.statistics.notes(without)
    assert said.startswith("no interval for words on mine/mood accuracy, ") and "No data for mine/mood" in said


def chancy_runner(made: Runner) -> Runner:
    """Make a runner of the same workspace that has read no rows yet."""
    return Runner(made.plugins, made.workspace)


Scored = dict[tuple[str, Term], Side]


def simulated_studies(count: int, *, gain: float = 0.0, tasks: int = 8, restarts: int = 3) -> Iterator[Scored]:
    """Draw answers to tasks of 300 rows by two backbones; several restarts differ by a seed effect.

    A single restart has none: a test of two fits cannot tell the effect of a seed from a difference of backbones.
    """
    for number in range(count):
        draw, scored = np.random.default_rng(number), Scored()
        for task in range(tasks):
            gold = draw.integers(0, 2, 300)
            hard = draw.normal(0, 1, 300)
            for backbone, more in (("a", 0.0), ("b", gain)):
                seeds = draw.normal(1 + more, 0.06 if restarts > 1 else 0, (restarts, 1))
                right = seeds + hard + draw.normal(0, 0.6, (restarts, 300)) > 0
                answers = np.where(right, gold, 1 - gold).tolist()
                term = Term(f"mine/{task}", "dev", "accuracy")
                scored[backbone, term] = Side.of_restarts(
                    ScoredAnswers(ACCURACY, gold.tolist(), restart) for restart in answers
                )
        yield scored


def has_mark(scored: Scored) -> bool:
    pairs = [((backbone, term), ("a", term)) for backbone, term in scored if backbone == "b"]
    tests, _ = corrected_differences(scored, pairs)
    assert len(tests) == len(pairs)
    return any(test.is_clear for test in tests.values())


@pytest.mark.parametrize("restarts", [1, 3, 5])
def test_a_backbone_does_not_differ_from_itself(restarts: int) -> None:
    """In 19 of 20 studies of 8 tasks or more, no difference between restarts of one backbone is reported."""
    assert sum(not has_mark(scored) for scored in simulated_studies(20, restarts=restarts)) >= 19


def test_a_much_better_backbone_differs() -> None:
    assert sum(has_mark(scored) for scored in simulated_studies(5, gain=0.6)) == 5


def test_holms_correction_is_over_all_tests() -> None:
    [scored] = simulated_studies(1, gain=0.4, tasks=3)
    pairs = [((backbone, term), ("a", term)) for backbone, term in scored if backbone == "b"]
    tests, _ = corrected_differences(scored, pairs)
    smallest = min(test.comparison.p for test in tests.values())
    assert min(test.adjusted_p for test in tests.values()) == pytest.approx(3 * smallest)
    key = min(tests, key=lambda key: tests[key].comparison.p)
    ours, theirs = scored[key[0]], scored[key[1]]
    sides = [restart.answers for restart in ours.fits], [restart.answers for restart in theirs.fits]
    plain = paired_test(ACCURACY, ours.fits[0].gold, *sides, confidence=1 - 0.05 / 3)
    corrected = tests[key].comparison
    assert (corrected.p, corrected.confidence) == (plain.p, plain.confidence)
    assert (corrected.low, corrected.high) == pytest.approx((plain.low, plain.high))


def test_an_empty_study_has_no_statistics() -> None:
    assert Statistics().tests == {}
