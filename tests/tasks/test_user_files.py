"""A user's own questions, in text files and in tables, whatever the task calls its columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from benchrunner.data.delimited import TextTable
from benchrunner.data.sources import Reshaped, RowsFrom
from benchrunner.errors import DataError, RequestError
from benchrunner.tasks.task import Split, Task
from benchrunner.tasks.user_files import read_questions
from benchrunner.workspace import Workspace
from inline import mood

TOPIC = TextTable("train.tsv", {"headline": "title", "topic": "section"})
PROBLEM: Any = SimpleNamespace(name="headlines", label_columns=("topic",), check=lambda rows, labelled: rows.table)


def task(source: Any = TOPIC) -> Task:
    """A task whose columns have names of their own."""
    return replace(mood(), problem=PROBLEM, splits={"train": Split("train", (source,))})


def read(task: Task, folder: Path, name: str, content: str) -> list[dict[str, Any]]:
    (folder / name).write_text(content)
    rows: list[dict[str, Any]] = read_questions(task, folder / name, Workspace(folder, folder)).table.to_pylist()
    return rows


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.txt", "Rain\nSun\n"),
        ("mine.tsv", "title\nRain\nSun\n"),
        ("mine.tsv", "section\ttitle\nnews\tRain\nnews\tSun\n"),
        ("mine.csv", "id,headline\n1,Rain\n2,Sun\n"),
    ],
)
def test_columns_may_be_named_as_in_the_task_or_its_files(name: str, content: str, tmp_path: Path) -> None:
    assert read(task(), tmp_path, name, content) == [{"headline": "Rain"}, {"headline": "Sun"}]


def test_a_header_without_the_columns_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mine\.tsv:1: the header must name title or headline; found 'topic'"):
        read(task(), tmp_path, "mine.tsv", "topic\nRain\n")


def test_a_text_file_cannot_ask_about_several_texts(tmp_path: Path) -> None:
    source = TextTable("train.tsv", {"query": "q", "one": "1", "two": "2", "topic": "t"})
    with pytest.raises(DataError, match="asks about several texts: give a table with the columns query, one and two"):
        read(task(source), tmp_path, "mine.txt", "Rain\n")


def test_a_reshaped_source_reads_files_without_labels(tmp_path: Path) -> None:
    def upper(table: pa.Table) -> pa.Table:
        return pa.table(
            {name: [text.upper() for text in table.column(name).to_pylist()] for name in table.column_names}
        )

    assert read(task(Reshaped(TOPIC, upper)), tmp_path, "mine.tsv", "title\nRain\n") == [{"headline": "RAIN"}]


def test_a_task_without_files_cannot_read_any(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"mine/mood has no file layout, so it cannot read .*mine\.tsv"):
        read(task(RowsFrom(lambda workspace: {})), tmp_path, "mine.tsv", "title\nRain\n")
