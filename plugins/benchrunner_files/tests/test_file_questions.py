"""A user's own questions to a task of a task file: plain lines, words and tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mood_file import TASK

from benchrunner import DataError, Workspace
from benchrunner.results import Plugins
from benchrunner_submit.own_questions.user_files import read_questions

Ask = Callable[[str, str, str], list[list[str]]]


def test_a_task_file_has_plain_lines(
    task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace, tmp_path: Path
) -> None:
    task = plugins.tasks.find(str(task_file(TASK)))
    for name, lines in (("mine", True), ("mine.txt", False)):
        (tmp_path / name).write_text("Sunny.\n\nBleak, and\tcold.\n")
        (rows,) = read_questions(task, tmp_path / name, workspace, lines=lines)
        assert rows.table.column("a").to_pylist() == ["Sunny.", "Bleak, and\tcold."]


TAGS = """problem = "tag"
labels = ["O", "B-X"]
[columns]
words = 0
labels = -1
[format]
kind = "words"
iob = true
[splits]
train = "train.iob"
dev = "train.iob"
"""
LAYOUTS = {
    "one.txt": "Anna\nwent\n\nTom\n",
    "tags.txt": "Anna B-X\nwent O\n\nTom B-X\n",
    "poses.txt": "Anna\tN\nwent\tV\n\nTom\tN\n",
    "mine.tsv": "Anna\tB-X\nwent\tO\n\nTom\tB-X\n",
    "texts.tsv": "words\tpage\nAnna went\t1\nTom\t2\n",
    "texts.csv": "page,words\n1,Anna went\n2,Tom\n",
    "mine.jsonl": '{"words": "Anna went"}\n{"words": "Tom"}\n',
    "lists.jsonl": '{"words": ["Anna", "went"]}\n{"words": ["Tom"]}\n',
}
"""Name of a file -> the two sentences in a layout that `predict` reads."""


@pytest.fixture
def ask(task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace, tmp_path: Path) -> Ask:
    """Reads the words of a user's file for a task file."""

    def asked(task: str, name: str, content: str) -> list[list[str]]:
        path = task_file(task, **{"train.iob": "Anna B-X\n", name: content})
        words: list[list[str]] = (
            next(read_questions(plugins.tasks.find(str(path)), tmp_path / name, workspace))
            .table.column("words")
            .to_pylist()
        )
        return words

    return asked


@pytest.mark.parametrize("name", LAYOUTS)
def test_words_are_read_in_every_layout(name: str, ask: Ask) -> None:
    assert ask(TAGS, name, LAYOUTS[name]) == [["Anna", "went"], ["Tom"]]


@pytest.mark.parametrize("name", ["texts.tsv", "texts.csv", "mine.jsonl", "lists.jsonl"])
def test_tables_of_words_may_have_the_problems_names(name: str, ask: Ask) -> None:
    table = (
        TAGS.replace("words = 0", 'words = "text"').replace("= -1", '= "tags"').replace('"words"\niob = true', '"csv"')
    )
    assert ask(table, name, LAYOUTS[name]) == [["Anna", "went"], ["Tom"]]


@pytest.mark.parametrize("content", ["Anna went\nTom slept\n", "Anna\nTom\n", "Anna went\n\nTom slept\n", "a b\nc\n"])
def test_sentences_are_not_read_as_words(content: str, ask: Ask) -> None:
    for name in ("mine.txt", "input"):
        with pytest.raises(DataError, match=r":[12]: expected .*If each line is a question in plain text, add --lines"):
            ask(TAGS, name, content)


def test_a_csv_file_of_words_needs_their_column(ask: Ask) -> None:
    with pytest.raises(DataError, match=r"mine\.csv:1: the columns must be words; found 'Anna, O'"):
        ask(TAGS, "mine.csv", "Anna,O\nTom,O\n")


def test_a_file_without_rows_speaks_of_no_split(
    task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace, tmp_path: Path
) -> None:
    task = plugins.tasks.find(str(task_file(TASK)))
    (tmp_path / "mine.tsv").write_text("text\n")
    with pytest.raises(DataError, match=r"mine\.tsv: no rows\.$"):
        next(read_questions(task, tmp_path / "mine.tsv", workspace))


def test_words_in_tables_are_documents_of_their_own(
    task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace, tmp_path: Path
) -> None:
    task = plugins.tasks.find(str(task_file(TAGS, **{"train.iob": "Anna B-X\n"})))
    for name, documents in (("mine.jsonl", [0, 1]), ("mine.tsv", [0, 0])):
        (tmp_path / name).write_text(LAYOUTS[name])
        (rows,) = read_questions(task, tmp_path / name, workspace)
        assert rows.table.column("document").to_pylist() == documents
        assert bool(rows.notes) == (documents == [0, 1])
