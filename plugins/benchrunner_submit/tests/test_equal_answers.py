"""Files whose rows all have the same answer, or nearly all: said of every kind of file, on every board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from benchrunner_submit import (
    Answers,
    BoardFile,
    FileKind,
    JsonLines,
    JsonMap,
    LabelList,
    Labels,
    Leaderboard,
    Lines,
    Table,
    Text,
)
from benchrunner_submit.submission_files.writing import write_answers
from benchrunner_submit.submissions.submission_check import check_submission
from inline import plugins

KINDS: dict[str, tuple[FileKind, list[Any], str]] = {
    "JSON": (JsonMap("id"), ["", "", "a day", "tea"], "'\"\"'"),
    "lists in JSON": (
        JsonMap("id", LabelList(Labels({"sad": "sad", "glad": "glad"}))),
        [[], [], ["sad"], ["glad"]],
        "'[]'",
    ),
    "JSON lines": (JsonLines("id", Text()), ["", "", "a day", "tea"], "'\"\"'"),
    "a table": (
        Table(("index", "prediction"), Labels({"sad": "0", "glad": "1"})),
        ["sad", "sad", "glad", "glad"],
        "'0'",
    ),
    "lines": (Lines(Labels({"sad": "0", "glad": "1"})), ["sad", "sad", "glad", "glad"], "'0'"),
}


@pytest.mark.parametrize("name", KINDS)
def test_equal_answers_of_every_kind_of_file_are_remarked_on(name: str, tmp_path: Path) -> None:
    """Also if they are equal but for a few: 11,872 of 11,873 empty answers are no work of a model."""
    kind, (most, _, *others), shown = KINDS[name]
    file = BoardFile("answers.txt", "mine/asked", "test", 1_000, kind)
    board = Leaderboard("asked", "Asked", "https://example.org", "asked/", (file,))
    table = pa.table({"id": [f"row {number}" for number in range(1_000)]})
    for few, said in (
        (0, f"in every row: answers.txt ({shown})."),
        (5, f"in every or nearly every row: answers.txt ({shown} in 995 of 1,000)."),
        (6, ""),
    ):
        values = [*(others * 3)[:few], *[most] * (1_000 - few)]
        write_answers(board, {file.pair: Answers(values, table)}, tmp_path / "asked")
        remarks = check_submission(tmp_path / "asked", plugins(), board=board).remarks
        assert remarks == ((f"C1 The file has the same answer {said}",) if said else ())
