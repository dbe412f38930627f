"""The leaderboard: its files are written from answers, pass its check, and every fault of others is named."""

from __future__ import annotations

import json
import statistics
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchrunner import PublishedRow, Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
from benchrunner_leaderboards import register_leaderboards
from benchrunner_submit import Answers, check_submission, write_answers
from benchrunner_submit.submission_files.checking import findings
from benchrunner_submit.submission_files.manifests import read_manifest
from benchrunner_superglue import register_tasks
from benchrunner_superglue.multirc_file import MultiRcFile

TASKS = {task.name: task for task in register_tasks()}
BOARDS = {board.name: board for board in register_leaderboards()}
BOARD = BOARDS["superglue"]
ROWS = pa.table({"passage": [3, 3, 3, 8], "question": [5, 5, 6, 7], "answer": [0, 1, 2, 0]})
GOOD = (
    '{"idx": 3, "passage": {"questions": [{"idx": 5, "answers": [{"idx": 0, "label": 1}, {"idx": 1, "label": 0}]}, '
    '{"idx": 6, "answers": [{"idx": 2, "label": 1}]}]}}\n'
    '{"idx": 8, "passage": {"questions": [{"idx": 7, "answers": [{"idx": 0, "label": 0}]}]}}\n'
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, str], Answers]:
    """Answers to every file of the board, from outputs without learning."""
    folder = tmp_path_factory.mktemp("data")
    workspace = Workspace(folder, folder, data=folder, settings=Settings(offline=True, official_counts=False))
    for task in TASKS.values():
        assert task.demo_files is not None
        task.demo_files(folder)
    given = {}
    for name, split in BOARD.wanted:
        task = TASKS[name]
        table = task.load(split, workspace).table
        output = task.problem.majority_output(task.load("train", workspace).table)
        outputs = np.repeat(np.asarray(output)[None], task.problem.output_count(table), axis=0)
        values = task.problem.decode(outputs, table, {})
        given[name, split] = Answers(values, table, task.problem.extra_figures(outputs, table, {}))
    return given


def test_a_submission_is_written_and_valid(answers: Mapping[tuple[str, str], Answers], tmp_path: Path) -> None:
    counts = {file.name: len(answers[file.pair].values) for file in BOARD.files}
    path = write_answers(BOARD, answers, tmp_path / "superglue.zip", counts=counts)
    tables = {pair: given.table for pair, given in answers.items() if given.table is not None}
    assert findings(BOARD, path, manifest=read_manifest(path), tables=tables).faults == []
    with zipfile.ZipFile(path) as archive:
        first = {name: json.loads(archive.read(name).split(b"\n")[0]) for name in archive.namelist()}
    assert set(first) == {file.name for file in BOARD.files} and len(first) == 10
    assert first["BoolQ.jsonl"] == {"idx": 0, "label": "true"} and first["WSC.jsonl"]["label"] in ("True", "False")
    assert type(first["COPA.jsonl"]["label"]) is int and isinstance(first["ReCoRD.jsonl"]["label"], str)
    assert list(first["MultiRC.jsonl"]) == ["idx", "passage"]


def test_one_task_of_the_board_is_checked_with_its_rows_alone(
    answers: Mapping[tuple[str, str], Answers], tmp_path: Path
) -> None:
    TASKS["superglue/cb"].demo_files(tmp_path / "data")  # type: ignore[misc]
    [file] = [file for file in BOARD.files if file.name == "CB.jsonl"]
    part = replace(BOARD, files=(replace(file, rows=len(answers[file.pair].values)),))
    path = write_answers(part, answers, tmp_path / "superglue.zip")
    checked = check_submission(path, discover(), board=BOARD, data=tmp_path / "data")
    assert checked.not_found == checked.unchecked == ()
    assert any(fault.startswith("BoolQ.jsonl, COPA.jsonl, ") for fault in checked.faults)
    assert check_submission(path, discover(), board=part, data=tmp_path / "data").faults == ()


def test_the_file_of_multirc_is_nested_as_the_data() -> None:
    kind = MultiRcFile()
    assert kind.write("x", Answers(["true", "false", "true", "false"], ROWS)).decode() == GOOD
    assert kind.check("x", GOOD.encode(), 4) == kind.check("x", GOOD.encode(), 4, table=ROWS) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"label": 1', '"label": "true"', "x:1: found '\"true\"'; expected the label 0 or 1."),
        ('{"idx": 1, "label": 0}', '{"idx": 0, "label": 0}', "this id is there already"),
        (
            '{"idx": 1, "label": 0}',
            '{"idx": 9, "label": 0}',
            "found 'passage 3 question 5 answer 9'; no row has this id",
        ),
        (', {"idx": 1, "label": 0}', "", "x: 3 answers, expected 4."),
        (', {"idx": 1, "label": 0}', "", "no answer to passage 3 question 5 answer 1"),
        (GOOD, "[1]", "expected an object such as "),
        (GOOD, "[" * 5000, "expected an object such as "),
    ],
)
def test_a_fault_of_multirc_is_named(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    faults = MultiRcFile().check("x", GOOD.replace(old, new, 1).encode(), 4, table=ROWS)
    assert any(fault in sentence for sentence in faults), faults


@pytest.mark.parametrize("row", BOARD.published, ids=lambda row: row.system)
def test_the_published_average_follows_from_the_figures(row: PublishedRow) -> None:
    """The paper's own average: a slip in any figure of a main task would show here."""
    cells: Any = row.cells
    assert cells.keys() == BOARD.columns.keys()
    parts = [["BoolQ"], ["CB F1", "CB acc"], ["COPA"], ["MultiRC F1a", "MultiRC EM"], ["ReCoRD F1", "ReCoRD EM"]]
    parts += [["RTE"], ["WiC"], ["WSC"]]
    means = [statistics.fmean(map(cells.get, names)) for names in parts]
    assert sum(means) / len(means) == pytest.approx(cells["Avg"], abs=0.0501)
