"""SQuAD's own files: both versions, quirks, every fault, and the real files where they are available."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchrunner import DataError, Workspace
from benchrunner.errors import BadRows
from benchrunner.workspace import Settings
from benchrunner_squad import register_tasks

TASKS = {task.name: task for task in register_tasks()}
CONTEXT = "Ada met Bruno in Café Löwe, Paris. 👋 They ate."
FILE: dict[str, Any] = {
    "version": "1.1",
    "data": [
        {"title": "Empty", "paragraphs": []},
        {
            "title": "Meetings",
            "paragraphs": [
                {"context": "Nothing is asked of this.", "qas": []},
                {
                    "context": CONTEXT,
                    "qas": [
                        {
                            "id": "q1",
                            "question": "Whom did Ada meet?",
                            "answers": [{"text": "Bruno", "answer_start": 8}, {"text": "met Bruno", "answer_start": 4}],
                        },
                        {"id": "q2", "question": "What did they do?", "answers": [{"text": "ate", "answer_start": 42}]},
                    ],
                },
            ],
        },
    ],
}
ROWS = [
    {
        "id": "q1",
        "question": "Whom did Ada meet?",
        "context": CONTEXT,
        "answers": ["Bruno", "met Bruno"],
        "starts": [8, 4],
        "article": "Meetings",
    },
    {
        "id": "q2",
        "question": "What did they do?",
        "context": CONTEXT,
        "answers": ["ate"],
        "starts": [42],
        "article": "Meetings",
    },
]


def workspace(folder: Path) -> Workspace:
    return Workspace(
        runs=folder / "runs",
        cache=folder / "cache",
        data=folder,
        settings=Settings(offline=True, official_counts=False),
    )


def load(folder: Path, content: object, version: str = "1.1") -> list[dict[str, Any]]:
    path = folder / f"dev-v{version}.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    rows: list[dict[str, Any]] = TASKS[f"squad/{version}"].load("dev", workspace(folder)).table.to_pylist()
    return rows


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Copy the file and change its question q1."""
    content = copy.deepcopy(FILE)
    change(content["data"][1]["paragraphs"][1]["qas"][0])
    return content


def test_questions_keep_the_file_order_and_all_their_answers(tmp_path: Path) -> None:
    assert load(tmp_path, FILE) == ROWS
    assert load(tmp_path, json.dumps(FILE, ensure_ascii=False)) == ROWS  # the offsets count characters, not bytes


def test_2_0_reads_unanswerable_questions_and_1_1_refuses_them(tmp_path: Path) -> None:
    none = {"answers": [], "is_impossible": True, "plausible_answers": [{"text": "Paris", "answer_start": 28}]}
    content = changed(lambda qa: qa.update(none))
    assert load(tmp_path, content, "2.0")[0] == {**ROWS[0], "answers": [], "starts": []}
    with pytest.raises(BadRows, match=r"dev-v1\.1\.json, row 0: 'q1' has no answer"):
        load(tmp_path, content)


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    assert load(tmp_path, "\ufeff" + json.dumps(FILE, indent=1).replace("\n", "\r\n")) == ROWS


def test_a_users_file_needs_no_answers(tmp_path: Path) -> None:
    content = changed(lambda qa: qa.pop("answers"))
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    source = TASKS["squad/1.1"].splits["dev"].sources[0].at(path)
    assert source is not None
    rows = source.unlabelled(("answers", "starts")).read(Workspace(tmp_path, tmp_path))
    assert rows.table.column_names == ["id", "question", "context", "article"]
    assert TASKS["squad/1.1"].problem.gold(TASKS["squad/1.1"].problem.check(rows, labelled=False)) is None
    with pytest.raises(DataError, match="the first question cannot be read: there is no 'answers'"):
        source.read(Workspace(tmp_path, tmp_path))


@pytest.mark.parametrize("name", ["train-v1.1.json", "squad/train-v1.1.json", "SQuAD/train-v1.1.json"])
def test_the_known_folders_are_searched(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(json.dumps(FILE), encoding="utf-8")
    assert len(TASKS["squad/1.1"].load("train", workspace(tmp_path))) == 2


FIRST = r"dev-v1\.1\.json: the first question cannot be read: "


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"dev-v1\.1\.json:1: not valid JSON at column 1"),
        ("[]", FIRST + "list indices must be integers"),
        ('{"data": [3]}', FIRST + "'int' object"),
        ('{"data": [{"paragraphs": []}]}', r"dev-v1\.1\.json: no rows\."),
        (changed(lambda qa: qa.update(id=7)), r"row 1: 'id' is a text here, and a number in an earlier row"),
        (changed(lambda qa: qa["answers"][1].pop("text")), FIRST + r"there is no 'text'\."),
        (changed(lambda qa: qa["answers"][0].update(answer_start=2**63)), r"'starts' has values that do not fit"),
        (changed(lambda qa: qa.update(is_impossible=True)), FIRST + "'is_impossible' is true, and there are 2 answers"),
        (changed(lambda qa: qa.update(is_impossible=False, answers=[])), "'is_impossible' is false, and there are 0"),
        (changed(lambda qa: qa.update(question="Who?\ud83d")), r"row 0: 'question' has half of a surrogate pair"),
    ],
)
def test_a_bad_file_is_one_error_with_its_place(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        load(tmp_path, content)
    assert not isinstance(error.value, BadRows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda qa: qa.update(id="q2"), r"row 1: the id 'q2' stands at row 0 already"),
        (lambda qa: qa["answers"][0].update(answer_start=9), r"row 0: 'q1' has the answer 'Bruno' at character 9"),
        (lambda qa: qa["answers"][0].update(answer_start=10**9), r"row 0: 'q1' has the answer 'Bruno' at character"),
    ],
)
def test_rows_that_contradict_themselves_are_bad_rows(tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(BadRows, match=message) as error:
        load(tmp_path, changed(change))
    assert len(error.value.rows) == 1


def test_an_empty_paragraph_makes_its_questions_bad_rows(tmp_path: Path) -> None:
    content = copy.deepcopy(FILE)
    content["data"][1]["paragraphs"][1]["context"] = " "
    with pytest.raises(BadRows, match=r"row 0: 'q1' has an empty context"):
        load(tmp_path, content)


def test_a_paragraph_of_100_kilobytes_is_read_completely(tmp_path: Path) -> None:
    content, long = copy.deepcopy(FILE), "word " * 20_000
    paragraph = content["data"][1]["paragraphs"][1]
    paragraph["context"] = long + "end"
    paragraph["qas"] = [{"id": "q", "question": "?", "answers": [{"text": "end", "answer_start": len(long)}]}]
    (row,) = load(tmp_path, content)
    assert row["context"][row["starts"][0] :] == "end"


def real_data() -> Path:
    """Find the official files; skips the test where they are missing."""
    named = os.environ.get("BENCHRUNNER_REAL_DATA")
    folder = Path(named) if named else Path.home() / ".cache" / "benchrunner-real-data"
    if not (folder / "squad").is_dir():
        pytest.skip(f"no SQuAD files in {folder / 'squad'}: set BENCHRUNNER_REAL_DATA to the folder above squad/")
    return folder


@pytest.mark.parametrize(("version", "split"), [("1.1", "train"), ("1.1", "dev"), ("2.0", "train"), ("2.0", "dev")])
def test_real_files_have_official_counts_and_true_answer_offsets(version: str, split: str) -> None:
    folder, task = real_data(), TASKS[f"squad/{version}"]
    if not (folder / "squad" / f"{split}-v{version}.json").is_file():
        pytest.skip(f"{split}-v{version}.json is not there")
    rows = task.load(split, Workspace(folder, folder, data=folder, settings=Settings(offline=True)))
    assert len(rows) == task.splits[split].rows
    assert rows.notes == ()
    answered = 0
    for part in rows.table.to_batches(1000):  # the Python texts of all rows would take memory
        columns = (part.column(name).to_pylist() for name in ("context", "answers", "starts"))
        for context, answers, starts in zip(*columns, strict=True):
            answered += bool(answers)
            assert [context[start : start + len(text)] for text, start in zip(answers, starts, strict=True)] == answers
    assert answered == {"1.1": len(rows), "2.0": 5_928 if split == "dev" else 86_821}[version]
