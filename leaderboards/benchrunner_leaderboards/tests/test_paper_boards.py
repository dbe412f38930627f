"""The boards: their files, and the tasks that they name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchrunner.results import discover
from benchrunner_leaderboards import register_leaderboards
from benchrunner_submit import Answers, write_answers
from benchrunner_submit.submission_files.checking import findings

BOARDS = {board.name: board for board in register_leaderboards()}
NAMES = [name for name, board in BOARDS.items() if board.files]


def test_a_log_odds_in_na_prob_is_a_fault() -> None:
    na_prob = BOARDS["squad-2.0"].files[1]
    (fault,) = na_prob.kind.check("na_prob.json", b'{"a": -3.5, "b": 0.5}', 2)
    assert fault.startswith("na_prob.json, id 'a': found '-3.5'; expected a number from 0 to 1: a log-odds or")


def test_the_output_of_swags_own_script_is_a_fault() -> None:
    predictions = BOARDS["swag"].files[0]
    faults = predictions.kind.check("predictions.csv", b",pred\n0,2\n1,3\n", 2)
    assert faults[0].startswith("predictions.csv:1: found ',pred'; expected the answer alone, without index and header")


@pytest.mark.parametrize("name", NAMES)
def test_the_board_names_splits_and_metrics_of_the_tasks(name: str) -> None:
    tasks, board = discover().tasks, BOARDS[name]
    if missing := [file.task for file in board.files if file.task not in tasks]:
        pytest.skip(f"no plugin offers {missing[0]}")
    for file in board.files:
        assert tasks[file.task].splits[file.split].rows == file.rows
    board.check_tasks(tasks, tasks)


def test_a_written_submission_is_checked_completely(tmp_path: Path) -> None:
    import pyarrow as pa

    board = BOARDS["squad-2.0"]
    table = pa.table({"id": [f"{number:024x}" for number in range(11_873)]})
    answers = Answers([""] * 11_873, table, {"no_answer": [number / 11_873 for number in range(11_873)]})
    path = write_answers(board, {("squad/2.0", "dev"): answers}, tmp_path)
    tables = {("squad/2.0", "dev"): table}
    assert findings(board, path, tables=tables).faults == [] and findings(board, path, tables=tables).unchecked == []
    assert list(json.loads((path / "na_prob.json").read_text()).values()) == answers.extra_figures["no_answer"]
