"""Rows of a study: texts, gold, the answers of every restart, and which answers are right."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

import finished_studies
from benchrunner import ACCURACY, EXACT_MATCH, Metric, RequestError
from benchrunner.results import Grid, Runner, compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner.studies.result import Result
from benchrunner_kinds import Span
from benchrunner_statistics import AnsweredRows
from benchrunner_statistics.answered_rows import right_answers
from benchrunner_tasks import PEARSON
from finished_studies import finish, task
from inline import mood, pairs
from made_results import made_result


def small_study(folder: Path) -> tuple[Result, Runner]:
    """Finish two backbones with two seeds and two learning rates on one task."""
    names, tasks = ("made/good", "made/poor"), (task("made/pairs", "classify"),)
    made = finished_studies.runner(folder, tasks, names)
    study = compared(names, tasks, Fitting(Grid({"lr": (3e-5, 2e-5)}), seeds=(0, 1)))
    finish(study, made, {"made/good": 0.8, "made/poor": 0.6})
    return run_study(study, made), made


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Runner]:
    return small_study(tmp_path_factory.mktemp("rows"))


def test_rows_hold_gold_and_every_kept_answer(study: tuple[Result, Runner]) -> None:
    result, made = study
    rows = AnsweredRows.kept(result.cells, "dev")
    [pairs_task] = result.study.tasks
    assert rows.gold == made.planner.rows(pairs_task, "dev").table.column("label").to_pylist()
    for backbone in result.study.backbones:
        fits = result.of(backbone, pairs_task.name).restarts
        assert rows.seeds[backbone] == (0, 1)
        for fit, answers in zip(fits, rows.answers[backbone], strict=True):
            [path] = (made.folder(fit).path / "predictions").glob("*/answers.jsonl")
            assert answers == [json.loads(line)["answer"] for line in path.read_text().splitlines()]


def test_kept_rows_are_those_of_the_data_that_was_answered(tmp_path: Path) -> None:
    result, _ = small_study(tmp_path)
    changed = task("made/pairs", rows=50)
    made = finished_studies.runner(tmp_path, (changed,), result.study.names)
    cells = [replace(cell, cell=replace(cell.cell, task=changed), runner=made) for cell in result.cells]
    with pytest.raises(RequestError, match=r"The data of made/pairs \(dev\) changed since the fit"):
        AnsweredRows.kept(cells, "dev")


def test_shares_of_right_rows_average_to_the_accuracy(study: tuple[Result, Runner]) -> None:
    result, _ = study
    scores = result.to_pandas(long=True).query("metric == 'accuracy'").set_index("backbone")
    for backbone, right in AnsweredRows.kept(result.cells, "dev").right.items():
        assert fmean(map(fmean, right)) == pytest.approx(scores.loc[backbone, "score"])


def test_scores_as_a_table_are_those_of_the_spreads(study: tuple[Result, Runner]) -> None:
    result, _ = study
    frame = result.to_pandas(long=True)
    spreads = [spread for cell in result.cells for spread in cell.figures.values()]
    assert frame["score"].tolist() == [spread.mean.value for spread in spreads]
    assert frame["values"].tolist() == [list(spread.values) for spread in spreads]
    assert set(frame["restarts"]) == {2}


def test_a_result_without_a_runner_has_no_rows() -> None:
    with pytest.raises(RequestError, match="no runner"):
        AnsweredRows.kept(made_result([mood()], ["words"]).cells, "dev")


def test_labels_are_right_if_they_equal_gold() -> None:
    rule = right_answers(mood(metrics=(ACCURACY,)), ["glad", "sad"])
    assert rule.judge(["glad", "glad"]) == [True, False]


def test_numbers_are_right_if_they_are_close() -> None:
    """A tenth of the range from 1 to 5 is 0.4."""
    rule = right_answers(pairs(), [1.0, 5.0, 3.0, 3.0])
    assert "0.4" in rule.rule and pairs().metrics == (PEARSON,)
    assert rule.judge([1.39, 4.5, 2.61, 3.0]) == [True, False, True, True]
    assert rule.grades([1.5, 4.5, 3.0, 1.0]) == [-0.5, -0.5, 0.0, -2.0], "distances below zero"


def test_answers_without_distance_are_right() -> None:
    mae = Metric.of_rows("mae", lambda gold, answer: abs(gold - answer), scale=1.0, lower_is_better=True)
    number = replace(task("made/number", "regress"), metrics=(mae,))
    rule = right_answers(number, [1.0, 2.0])
    assert rule.rule == "An answer is right if its mae is the lowest possible."
    assert rule.judge([1.0, 2.5]) == [True, False]
    assert rule.grades([1.0, 2.5]) == [0.0, -0.5]


def test_sets_of_labels_are_right_in_any_order() -> None:
    rule = right_answers(mood(metrics=(EXACT_MATCH,)), [["a", "b"], []])
    assert rule.judge([["b", "a"], ["a"]]) == [True, False]


def test_a_metric_of_single_rows_decides() -> None:
    """Of several right texts, each one is right; a row without answers wants the empty text."""
    match = Metric("match", lambda gold, answers: 0.0, per_row=lambda gold, answer: 100.0 * (answer in (gold or [""])))
    spans = mood(problem=Span(unanswerable=True), metrics=(match,))
    rule = right_answers(spans, [["1 May", "May"], []])
    assert rule.judge(["May", ""]) == [True, True]
    assert rule.judge(["1", "May"]) == [False, False]
    assert rule.grades(["May", "May"]) == [100.0, 0.0] and rule.metric is match
