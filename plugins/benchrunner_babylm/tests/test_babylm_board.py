"""The files of predictions are those that the challenge's collation reads, and every fault of others is named."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from benchrunner import Faults
from benchrunner_babylm import register_tasks
from benchrunner_babylm.predictions_file import PredictionsFile
from benchrunner_leaderboards import register_leaderboards
from benchrunner_submit import Answers, ExpectedRows, write_answers
from benchrunner_submit.submission_files.checking import findings
from benchrunner_submit.submission_files.manifests import read_manifest

BOARDS = {board.name: board for board in register_leaderboards()}
BOARD = BOARDS["babylm"]
TASKS = {task.name: task for task in register_tasks()}
GOOD = '{"boolq": {"predictions": [{"id": "boolq_0", "pred": 0}, {"id": "boolq_1", "pred": 1}]}}\n'
SIZES = {"boolq": 1635, "mnli": 4908, "mrpc": 204, "multirc": 2424, "qqp": 20215, "rte": 139, "wsc": 52}
"""The sizes that `collate_preds.py` of the challenge asserts, at bf55c11."""


def collated(folder: Path) -> dict[str, dict[str, list[dict[str, int | str]]]]:
    """Collate the files as the challenge does: the objects side by side, if their sizes are right."""
    glue = {}
    for task, size in SIZES.items():
        results = json.loads((folder / f"{task}.json").read_text())
        assert all(len(result["predictions"]) == size for result in results.values())
        glue |= results
    return glue


def test_a_submission_is_written_valid_and_collated(tmp_path: Path) -> None:
    given = {
        (f"babylm/{task}-filtered", "dev"): Answers(["0", "1"] * (size // 2) + ["1"] * (size % 2))
        for task, size in SIZES.items()
    }
    path = write_answers(BOARD, given, tmp_path / "babylm")
    assert findings(BOARD, path, manifest=read_manifest(path)).faults == []
    glue = collated(path)
    assert list(glue) == list(SIZES)
    assert glue["wsc"]["predictions"][:2] == [{"id": "wsc_0", "pred": 0}, {"id": "wsc_1", "pred": 1}]


def test_a_file_is_written_as_the_pipeline_writes_it() -> None:
    kind = PredictionsFile("boolq", 2)
    assert kind.write("x", Answers(["0", "1"], pa.table({"a": ["s", "t"]}))).decode() == GOOD
    assert kind.check("x", GOOD.encode(), 2) == []
    assert kind.read(GOOD.encode(), ExpectedRows(2), Faults("x")) == ["0", "1"]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('"pred": 1', '"pred": 2', "x, prediction 1: found '2'; expected a whole number from 0 to 1."),
        ('"pred": 1', '"pred": "1"', "expected a whole number"),
        ('"pred": 1', '"prediction": 1', 'expected an object with the keys "id" and "pred" alone'),
        ("boolq_1", "boolq_2", "the ids must count from boolq_0 on, in the order of the validation file"),
        (', {"id": "boolq_1", "pred": 1}', "", "x: 1 prediction, expected 2."),
        ('{"boolq"', '{"rte"', 'expected the one object {"boolq": {"predictions": ['),
        (GOOD, "[1]", "expected the one object"),
        (GOOD, "", "not JSON that can be read"),
        (GOOD, "[" * 100_000, "not JSON that can be read"),
    ],
)
def test_a_fault_is_named(old: str, new: str, fault: str) -> None:
    assert old in GOOD
    content = GOOD.replace(old, new, 1).encode(errors="surrogateescape")
    faults = PredictionsFile("boolq", 2).check("x", content, 2)
    assert any(fault in sentence for sentence in faults), faults
