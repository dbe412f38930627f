"""A user's own questions, in text files and in tables, whatever the task calls its columns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from benchrunner.data.delimited import TextTable
from benchrunner.data.json_lines import JsonTable
from benchrunner.data.sources import Reshaped, RowsFrom
from benchrunner.errors import DataError, RequestError
from benchrunner.problems.problem import Problem
from benchrunner.tasks.task import Split, Task
from benchrunner.tasks.user_files import read_questions
from benchrunner.workspace import Workspace
from inline import mood

TOPIC = TextTable("train.tsv", {"headline": "title", "topic": "section"})
HEADLINES: Any = type(
    "Headlines",
    (Problem,),
    {"name": "headlines", "label_columns": ("topic",), "check": lambda self, rows, labelled: rows.table},
)
HEADLINES.__abstractmethods__ = frozenset()  # nothing else is asked of the problem here
PROBLEM = HEADLINES()


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
        ("mine.jsonl", '{"id": 1, "headline": "Rain"}\n{"id": 2, "headline": "Sun"}\n'),
        ("mine.json", '{"title": "Rain", "section": "news"}\n{"title": "Sun", "section": "news"}\n'),
        ("input", '{"title": "Rain"}\n{"title": "Sun"}\n'),
        ("input", "title\tpage\nRain\t1\nSun\t2\n"),
        ("input", "page,title\n1,Rain\n2,Sun\n"),
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
        return pa.table({name: pc.utf8_upper(table.column(name)) for name in table.column_names})

    assert read(task(Reshaped(TOPIC, upper)), tmp_path, "mine.tsv", "title\nRain\n") == [{"headline": "RAIN"}]


def test_a_task_without_files_cannot_read_any(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"mine/mood has no file layout, so it cannot read .*mine\.tsv"):
        read(task(RowsFrom(lambda workspace: {})), tmp_path, "mine.tsv", "title\nRain\n")


COLA = TextTable("train.tsv", {"headline": "sentence", "topic": "label"}, names=("source", "label", "star", "sentence"))


def test_a_layout_without_a_header_is_read_as_it_is(tmp_path: Path) -> None:
    rain = [{"headline": "Rain"}]
    assert read(task(COLA), tmp_path, "dev.tsv", "gj04\t1\t\tRain\n") == rain
    assert read(task(COLA), tmp_path, "input", "gj04\t1\t\tRain\n") == rain
    assert read(task(COLA), tmp_path, "mine.tsv", "index\tsentence\n0\tRain\n") == rain
    with pytest.raises(DataError, match="must name sentence or headline, or the file has 4 columns and no header; fou"):
        read(task(COLA), tmp_path, "mine.tsv", "gj04\tRain\n")


def test_the_layout_of_a_task_decides_over_the_name_of_the_file(tmp_path: Path) -> None:
    own = TextTable("train.csv", {"headline": "title", "topic": "section"}, separator=";", quoted=True)
    assert read(task(own), tmp_path, "mine.csv", 'section;title\nnews;"Rain;Sun"\n') == [{"headline": "Rain;Sun"}]


def test_a_task_of_json_lines_reads_tables_too(tmp_path: Path) -> None:
    own = JsonTable("train.jsonl", {"headline": "title", "topic": "section"})
    for name, content in (
        ("mine.jsonl", '{"title": "Rain"}\n'),
        ("mine.csv", "page,title\n1,Rain\n"),
        ("mine.tsv", "title\nRain\n"),
    ):
        assert read(task(own), tmp_path, name, content) == [{"headline": "Rain"}]


def test_objects_without_the_keys_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mine\.jsonl:1: the keys must be title or headline; found 'text'"):
        read(task(), tmp_path, "mine.jsonl", '{"text": "Rain"}\n')
