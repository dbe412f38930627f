"""A user's own questions, in text files and in tables, whatever the task calls its columns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet
import pytest

from benchrunner.data.delimited import TextTable
from benchrunner.data.json_lines import JsonTable
from benchrunner.data.sources import Reshaped, RowsFrom
from benchrunner.errors import DataError, RequestError
from benchrunner.metrics.metric import EXACT_MATCH
from benchrunner.problems.problem import Problem
from benchrunner.problems.sentences import Classify, Regress
from benchrunner.tasks.task import Split, Task
from benchrunner.workspace import Workspace
from benchrunner_kinds import Candidates, Choose, ClassifyWords, Span, Tag
from benchrunner_submit import answer_file
from benchrunner_submit.own_questions.answer_texts import AnswerTexts
from benchrunner_submit.own_questions.user_files import read_questions
from inline import mood, runner
from moody import fine_tuned

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
    (block,) = read_questions(task, folder / name, Workspace(folder, folder))
    rows: list[dict[str, Any]] = block.table.to_pylist()
    return rows


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("mine.tsv", "title\nRain\nSun\n"),
        ("mine.tsv", "section\ttitle\nnews\tRain\nnews\tSun\n"),
        ("mine.csv", "id,headline\n1,Rain\n2,Sun\n"),
        ("mine.jsonl", '{"id": 1, "headline": "Rain"}\n{"id": 2, "headline": "Sun"}\n'),
        ("mine.json", '{"title": "Rain", "section": "news"}\n{"title": "Sun", "section": "news"}\n'),
        ("input", '{"title": "Rain"}\n{"title": "Sun"}\n'),
        ("input", '\ufeff{"title": "Rain"}\n{"title": "Sun"}\n'),
        ("input", "title\tpage\nRain\t1\nSun\t2\n"),
        ("input", "page,title\n1,Rain\n2,Sun\n"),
    ],
)
def test_columns_may_be_named_as_in_the_task_or_its_files(name: str, content: str, tmp_path: Path) -> None:
    assert read(task(), tmp_path, name, content) == [{"headline": "Rain"}, {"headline": "Sun"}]


@pytest.mark.parametrize("name", ["mine.parquet", "input"])
def test_a_table_may_be_parquet(name: str, tmp_path: Path) -> None:
    parquet.write_table(pa.table({"page": [1, 2], "title": ["Rain", "Sun"]}), tmp_path / name)
    (rows,) = read_questions(task(), tmp_path / name, Workspace(tmp_path, tmp_path))
    assert rows.table.to_pylist() == [{"headline": "Rain"}, {"headline": "Sun"}]


def test_a_header_without_the_columns_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mine\.tsv:1: the columns must be title or headline; found 'topic'"):
        read(task(), tmp_path, "mine.tsv", "topic\nRain\n")


def test_a_line_of_plain_text_has_a_field_for_each_text(tmp_path: Path) -> None:
    source = TextTable("train.tsv", {"query": "q", "one": "1", "two": "2", "topic": "t"})
    assert read(task(source), tmp_path, "mine.txt", "Rain\tor\tsun\r\n\n") == [
        {"id": "1", "document": 1, "query": "Rain", "one": "or", "two": "sun"}
    ]
    with pytest.raises(DataError, match=r"mine.txt:2: a line of plain text .* is: query TAB one TAB two; found 'R"):
        read(task(source), tmp_path, "mine.txt", "a\tb\tc\nRain\n")


PLAIN = {
    "classify": (Classify(("glad", "sad")), ("a",), "a\tb", {"a": "a\tb"}),
    "pair": (Regress(0, 5), ("a", "b", "idx"), "one\ttwo", {"a": "one", "b": "two"}),
    "tag": (Tag(("O", "B-X", "I-X")), (), "Anna  sang.", {"words": ["Anna", "sang."]}),
    "span": (Span(), (), "Who?\tAnna sang.", {"question": "Who?", "context": "Anna sang."}),
    "choose": (Choose(2), (), "x\ty\tz", {"a": "x", "choices": ["y", "z"]}),
    "candidates": (Candidates(), (), "x\ty\tz\tw", {"a": "x", "choices": ["y", "z", "w"]}),
}
"""Kind of problem -> the problem, the columns of its task's files, a line, and the row that it is."""


@pytest.mark.parametrize("kind", PLAIN)
def test_every_problem_reads_plain_lines(kind: str, tmp_path: Path) -> None:
    problem, columns, line, row = PLAIN[kind]
    source = JsonTable("train.jsonl", {name: name for name in columns}) if columns else RowsFrom(lambda given: {})
    own = replace(mood(), problem=problem, splits={"train": Split("train", (source,))}, metrics=(EXACT_MATCH,))
    (tmp_path / "mine").write_text(f"{line}\n")
    (rows,) = read_questions(own, tmp_path / "mine", Workspace(tmp_path, tmp_path), lines=True)
    (found,) = rows.table.to_pylist()
    assert {name: found[name] for name in row} == row


@pytest.mark.parametrize("problem", [Classify(("glad", "sad")), Tag(("O", "B-PER", "I-PER"))])
def test_plain_lines_are_the_same_in_parts(problem: Problem, tmp_path: Path) -> None:
    (tmp_path / "mine.lst").write_text("Rain falls\n\nSun\nWind\n  \nIt is Monday")
    asked = replace(mood(), problem=problem)
    (whole,) = read_questions(asked, tmp_path / "mine.lst", Workspace(tmp_path, tmp_path), lines=True)
    for at_once in (1, 2, 3, 4):
        parts = list(
            read_questions(asked, tmp_path / "mine.lst", Workspace(tmp_path, tmp_path), lines=True, at_once=at_once)
        )
        assert pa.concat_tables([part.table for part in parts]) == whole.table
        assert [number for part in parts for number in part.lines or ()] == list(whole.lines or ()) == [1, 3, 4, 6]
        assert max(map(len, parts)) == at_once


@pytest.mark.parametrize(("problem", "line"), [(Classify(("glad", "sad")), "x\ty"), (Span(), "Who?\tAnna sang.")])
def test_reshaped_sources_have_plain_lines(problem: Problem, line: str, tmp_path: Path) -> None:
    source = Reshaped(JsonTable("train.jsonl", {"b": "two", "label": "l", "a": "one"}), lambda table: table)
    own = replace(mood(), problem=problem, splits={"train": Split("train", (source,))}, metrics=(EXACT_MATCH,))
    (tmp_path / "mine").write_text(f"{line}\n")
    (rows,) = read_questions(own, tmp_path / "mine", Workspace(tmp_path, tmp_path), lines=True)
    (found,) = rows.table.to_pylist()
    assert list(found.values())[-2:] == line.split("\t")


def test_a_task_of_unknown_columns_refuses_plain_lines(tmp_path: Path) -> None:
    own = task(RowsFrom(lambda workspace: {}))
    (tmp_path / "mine").write_text("Rain\n")
    with pytest.raises(RequestError, match=r"mine/mood does not say what a line of plain text holds: leave --lines"):
        list(read_questions(own, tmp_path / "mine", Workspace(tmp_path, tmp_path), lines=True))


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (Span(), "is: question TAB context; found 'only this'"),
        (Choose(3), "is: a TAB choices; found"),
        (ClassifyWords(("glad", "sad"), marks=1), "no column marks"),
    ],
)
def test_a_wrong_plain_line_says_what_it_must_hold(problem: Problem, expected: str, tmp_path: Path) -> None:
    own = replace(mood(), problem=problem, metrics=(EXACT_MATCH,))
    (tmp_path / "mine").write_text("only this\n")
    with pytest.raises(DataError, match=expected):
        list(read_questions(own, tmp_path / "mine", Workspace(tmp_path, tmp_path), lines=True))


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
    with pytest.raises(
        DataError, match="must be sentence or headline, or 4 columns, separated by '\\\\t', and no header; fou"
    ):
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
    with pytest.raises(DataError, match=r"mine\.jsonl:1: the columns must be title or headline; found 'text'"):
        read(task(), tmp_path, "mine.jsonl", '{"text": "Rain"}\n')


@pytest.mark.parametrize("source", [TOPIC, JsonTable("train.jsonl", {"headline": "title", "topic": "section"})])
@pytest.mark.parametrize("name", ["mine.lst", "input"])
def test_what_looks_like_plain_text_is_advised_lines(name: str, source: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r":1: .*[^ ] If each line is a question in plain text, add --lines\.$"):
        read(task(source), tmp_path, name, "Rain\n")


def test_other_files_are_not_advised_lines(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the file is empty; a JSON object on each line was expected\.$"):
        read(task(JsonTable("train.jsonl", {"headline": "title"})), tmp_path, "mine.jsonl", "")


def test_text_files_leave_blank_lines_out_whatever_the_source(tmp_path: Path) -> None:
    for source in (COLA, JsonTable("train.jsonl", {"headline": "title", "topic": "section"})):
        rows = read(task(source), tmp_path, "mine.txt", "Rain\n\n \nSun\n")
        assert [row["headline"] for row in rows] == ["Rain", "Sun"]


def test_a_text_file_of_questions_is_plain(tmp_path: Path) -> None:
    own = replace(task(RowsFrom(lambda workspace: {})), problem=Span(), metrics=(EXACT_MATCH,))
    (row,) = read(own, tmp_path, "mine.txt", "Who?\tAnna sang.\n\n")
    assert row["question"] == "Who?" and row["context"] == "Anna sang."


def test_a_users_own_file_is_answered_in_its_order(tmp_path: Path) -> None:
    made = runner(tmp_path)
    fit = fine_tuned(made, epochs=12, lr=0.05)
    texts = ["the bleak day", "a sunny walk", "gloomy by the river"]
    (tmp_path / "mine.txt").write_text("\n".join(texts) + "\n")
    (tmp_path / "mine.tsv").write_text("id\ttext\n" + "".join(f"7\t{text}\n" for text in texts))
    (tmp_path / "mine.csv").write_text('"id","a"\n' + "".join(f'7,"{text}"\n' for text in texts))
    for name in ("mine.txt", "mine.tsv", "mine.csv"):
        (answered,) = answer_file([fit.id], made, tmp_path / name)
        assert answered.answers == ["sad", "glad", "sad"], name
        assert "".join(AnswerTexts(answered).lines()) == "index\tprediction\n0\tsad\n1\tglad\n2\tsad\n"
        assert "probabilities" not in AnswerTexts(answered).as_json()
    parts = answer_file([str(made.folder(fit).path)], made, tmp_path / "mine.txt", at_once=2)
    assert [part.answers for part in parts] == [["sad", "glad"], ["sad"]]
