"""Leaderboards in TOML files: their values, and the error for each mistake."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchrunner.errors import PluginError
from benchrunner.leaderboards.board_toml import read_leaderboard
from benchrunner.leaderboards.file_kinds.columns_file import Columns
from benchrunner.leaderboards.file_kinds.json_file import JsonMap
from benchrunner.leaderboards.file_kinds.lines_file import Lines
from benchrunner.leaderboards.file_kinds.spellings import Labels, Number, Text
from benchrunner.leaderboards.file_kinds.table_file import Table
from benchrunner.leaderboards.leaderboard import BoardFile, Leaderboard
from benchrunner.leaderboards.published import PublishedColumn, PublishedRow

BOARD = """
name = "moods"
title = "Moods"
url = "https://moods.example"
archive = "moods.zip"

[[file]]
name = "Mood.tsv"
kind = "table"
header = ["index", "prediction"]
task = "mine/mood"
split = "test"
rows = 3
labels = {sad = "0", glad = "1"}
other_rows = {4 = "the rows of last year"}

[[file]]
name = "Warmth.tsv"
kind = "table"
header = ["index", "prediction"]
task = "mine/warmth"
split = "test"
rows = 2
number = {low = 0, high = 5, decimals = 3}

[[file]]
name = "said.json"
kind = "json"
key = "id"
task = "mine/spoken"
split = "dev"
rows = 2

[[file]]
name = "doubt.json"
kind = "json"
key = "id"
extra_figure = "no_answer"
task = "mine/spoken"
split = "dev"
rows = 2
number = {low = 0, high = 1, outside = "a log-odds is no probability"}

[[file]]
name = "choice.csv"
kind = "lines"
task = "mine/choice"
split = "test"
rows = 5
labels = {0 = "0", 1 = "1"}

[[file]]
name = "chances.csv"
kind = "lines"
values = 2
extra_figure = "probabilities"
task = "mine/choice"
split = "test"
rows = 5
number = {low = 0, high = 1, decimals = 3}

[[file]]
name = "tags.out"
kind = "columns"
columns = ["words", "labels"]
types = ["PER", "LOC"]
border = ["-DOCSTART-", "O"]
task = "mine/tags"
split = "test"
rows = 5

[columns]
Mood = {kind = "test", task = "mine/mood", metric = "accuracy", split = "test", beside = "dev"}
"Mood, dev" = {kind = "dev", task = "mine/mood", metric = "accuracy", split = "dev"}
"Mood, hidden" = {kind = "test", task = "mine/mood", metric = "f1"}
mean = {kind = "test", suite = "mine", average = "mean of moods"}

[[published]]
system = "Thermometer"
variant = "mercury"
source = "Nobody 2019, Table 1"
version = "second"
cells = {Mood = 80.5, mean = 70}
notes = "read twice"
by_default = true

[[published]]
system = "Barometer"
source = "Nobody 2019, Table 2"
cells = {Mood = 81}
other_data = "the weather of 2018"
"""


def read(folder: Path, text: str) -> Leaderboard:
    path = folder / "moods.toml"
    path.write_text(text)
    return read_leaderboard(path)


def test_a_board_is_read_from_its_toml(tmp_path: Path) -> None:
    board = read(tmp_path, BOARD)
    assert (board.name, board.title, board.url, board.archive) == (
        "moods",
        "Moods",
        "https://moods.example",
        "moods.zip",
    )
    assert board.wanted[:2] == (("mine/mood", "test"), ("mine/warmth", "test"))
    assert len(board.files) == 7 and len(board.wanted) == 5 and not board.is_folder
    mood, warmth, *_ = board.files
    header = ("index", "prediction")
    mood_kind = Table(header, Labels({"sad": "0", "glad": "1"}))
    assert mood == BoardFile("Mood.tsv", "mine/mood", "test", 3, mood_kind, {4: "the rows of last year"})
    assert warmth.kind == Table(header, Number(0, 5, 3))
    assert board.files_of("mine/mood") == [mood] and board.files_of("mine/other") == []


def test_every_kind_of_file_is_read_from_its_toml(tmp_path: Path) -> None:
    board = read(tmp_path, BOARD)
    said, doubt, choice, chances, tags = board.files[2:]
    assert said.kind == JsonMap("id", Text()) and said.extra_figure == ""
    assert (
        doubt.kind == JsonMap("id", Number(0, 1, None, "a log-odds is no probability"))
        and doubt.extra_figure == "no_answer"
    )
    assert choice.kind == Lines(Labels({"0": "0", "1": "1"})) and chances.kind == Lines(Number(0, 1, 3), 2)
    assert tags.kind == Columns(("words", "labels"), ("PER", "LOC"), ("-DOCSTART-", "O"))


def test_a_board_may_be_a_folder_and_may_have_a_note(tmp_path: Path) -> None:
    board = read(tmp_path, 'note = "Nobody reads it."\n' + BOARD.replace("moods.zip", "moods-1.1/"))
    assert board.is_folder and board.note == "Nobody reads it."


def test_published_rows_and_columns_are_read(tmp_path: Path) -> None:
    board = read(tmp_path, BOARD)
    assert board.published == (
        PublishedRow(
            "Thermometer",
            "Nobody 2019, Table 1",
            {"Mood": 80.5, "mean": 70.0},
            variant="mercury",
            version="second",
            notes="read twice",
            by_default=True,
        ),
        PublishedRow("Barometer", "Nobody 2019, Table 2", {"Mood": 81.0}, other_data="the weather of 2018"),
    )
    assert [row.name for row in board.published] == ["Thermometer (mercury)", "Barometer"]
    assert board.columns == {
        "Mood": PublishedColumn("test", "accuracy", task="mine/mood", split="test", beside="dev"),
        "Mood, dev": PublishedColumn("dev", "accuracy", task="mine/mood", split="dev"),
        "Mood, hidden": PublishedColumn("test", "f1", task="mine/mood"),
        "mean": PublishedColumn("test", "mean of moods", suite="mine"),
    }
    assert board.origin == str(tmp_path / "moods.toml")


def test_columns_and_published_rows_may_be_left_out(tmp_path: Path) -> None:
    board = read(tmp_path, BOARD[: BOARD.index("[columns]")])
    assert board.columns == {} and board.published == () and list(board.figures) == []


def test_a_board_may_list_published_rows_and_take_no_files(tmp_path: Path) -> None:
    head, rest = BOARD.split("[[file]]", 1)[0], BOARD[BOARD.index("[columns]") :]
    board = read(tmp_path, head.replace('archive = "moods.zip"\n', "") + rest)
    assert (board.files, board.archive, len(board.published)) == ((), "", 2)
    with pytest.raises(PluginError, match="takes files in an archive, or lists published results"):
        read(tmp_path, head + rest)
    with pytest.raises(PluginError, match="takes files in an archive, or lists published results"):
        read(tmp_path, head.replace('archive = "moods.zip"\n', ""))


MISTAKES = {
    "not TOML": ('name = "moods"', "name = moods", "moods.toml: not valid TOML"),
    "endless lists": (
        'name = "moods"',
        "name = " + "[" * 10_000,
        "moods.toml: not valid TOML: lists or tables are nested",
    ),
    "missing key": ('title = "Moods"', "", "moods.toml: title: is missing; expected text"),
    "empty key": ('title = "Moods"', 'title = ""', "moods.toml: title: must not be empty"),
    "misspelled key": ('url = "', 'ulr = "', "moods.toml: url: is missing"),
    "unknown key": (
        "rows = 2",
        "rows = 2\nrow = 3",
        "[[file]] 2 (Warmth.tsv): row: is not a key of this table. Did you mean",
    ),
    "strange key": (
        "rows = 2",
        "rows = 2\nxyz = 3",
        "xyz: is not a key of this table. Known here: extra_figure, header, kind",
    ),
    "wrong type": (
        "rows = 3",
        'rows = "3"',
        "[[file]] 1 (Mood.tsv): rows: expected a whole number from zero up, found text: '3'",
    ),
    "truth for a number": (
        "rows = 3",
        "rows = true",
        "rows: expected a whole number from zero up, found true or false",
    ),
    "a fraction of a row": (
        "rows = 3",
        "rows = 3.5",
        "rows: expected a whole number from zero up, found a number: 3.5",
    ),
    "negative rows": ("rows = 3", "rows = -3", "rows: expected a whole number from zero up, found -3"),
    "no rows": ("rows = 3", "rows = 0", "Mood.tsv needs at least one row, not 0"),
    "unknown kind": (
        'kind = "table"',
        'kind = "sonnet"',
        "kind: there is no kind of file 'sonnet'; the kinds are table, lines, json, columns",
    ),
    "header of three": ('["index", "prediction"]', '["a", "b", "c"]', "header: expected two names, index and answer"),
    "header twice": ('["index", "prediction"]', '["a", "a"]', "header: A table's header is two different names"),
    "header of numbers": ('["index", "prediction"]', "[1, 2]", "header: expected a list of texts"),
    "header with a tab": ('["index", "prediction"]', '["a", "b\\t"]', "header: A column's name is one printable word"),
    "no spelling": ('labels = {sad = "0", glad = "1"}', "", "labels: give either labels or number"),
    "one label": ('labels = {sad = "0", glad = "1"}', 'labels = {sad = "0"}', "labels: Labels need two or more"),
    "same text": ('glad = "1"', 'glad = "0"', "labels: Two labels share one text"),
    "number as text": ('glad = "1"', "glad = 1", "(Mood.tsv): labels.glad: expected text, found a whole number: 1"),
    "space in a text": ('glad = "1"', 'glad = "1 "', "labels: A label's text is one printable word"),
    "range upside down": ("low = 0, high = 5", "low = 5, high = 0", "number: A number needs low < high"),
    "range too fine": ("high = 5", "high = 4.9999", "number: 0 to 4.9999 cannot be written with 3 decimals"),
    "infinite range": ("high = 5", "high = inf", "number.high: expected a finite number, found inf"),
    "range misspelled": ("decimals = 3", "decimals = 3, step = 2", "number.step: is not a key of this table"),
    "odd count": ("{4 = ", "{four = ", "other_rows: expected a number of rows as key, found 'four'"),
    "task without suite": ('"mine/warmth"', '"warmth"', "A task's name is 'suite/task' in lower case, not 'warmth'"),
    "file in a folder": ('"Warmth.tsv"', '"../Warmth.tsv"', "and no folder; found '../Warmth.tsv'"),
    "file twice": ('"Warmth.tsv"', '"mood.tsv"', "several files have the same name: Mood.tsv, mood.tsv"),
    "loud name": ('name = "moods"', 'name = "My Moods"', "short and lower case, without spaces, not 'My Moods'"),
    "no zip": ('"moods.zip"', '"moods.rar"', "the archive is NAME.zip, or NAME/ for a folder, not 'moods.rar'"),
    "a folder's folder": ('"moods.zip"', '"my/moods/"', "the archive is NAME.zip, or NAME/ for a folder, not"),
    "cell of no column": (
        "cells = {Mood",
        "cells = {Moood",
        "[[published]] 1 (Thermometer): cells.Moood: there is no such column; the columns are Mood, Mood, dev,",
    ),
    "cell of text": (
        "Mood = 80.5",
        'Mood = "80.5"',
        "[[published]] 1 (Thermometer): cells.Mood: expected a number, found text",
    ),
    "row of no cells": ("cells = {Mood = 81}", "cells = {}", "(Barometer): system: Barometer has no cells"),
    "figure twice": (
        'system = "Barometer"\nsource = "Nobody 2019, Table 2"',
        'system = "Thermometer"\nvariant = "mercury"\nversion = "second"\nsource = "Nobody 2019, Table 1"',
        "the board: Thermometer (mercury) has two figures in the column 'Mood' from Nobody 2019, Table 1",
    ),
    "comma in a system": ('system = "Barometer"', 'system = "Bar, o"', "system: A system's name has no comma and is"),
    "reserved system": (
        'system = "Barometer"',
        'system = "all"',
        "system: A system's name has no comma and is not all",
    ),
    "shown as text": ("by_default = true", 'by_default = "yes"', "by_default: expected true or false, found text"),
    "unknown kind of split": (
        'kind = "dev"',
        'kind = "train"',
        "columns.Mood, dev.kind: there is no kind of split 'train'; the kinds are dev and test.",
    ),
    "no kind of split": ('kind = "dev", ', "", "columns.Mood, dev.kind: is missing"),
    "task and suite": (
        'suite = "mine"',
        'suite = "mine", task = "mine/mood"',
        "columns.mean.task: give either task and",
    ),
    "neither task nor suite": ('suite = "mine", ', "", "columns.mean.task: give either task and metric, or suite and"),
    "average of a task": (
        'task = "mine/mood", metric = "f1"',
        'task = "mine/mood", average = "f1"',
        "columns.Mood, hidden.metric: is missing",
    ),
    "split of an average": (
        'average = "mean of moods"',
        'average = "mean of moods", split = "test"',
        "columns.mean.split: is not a key of this table",
    ),
    "map without a key": ('key = "id"', "", "[[file]] 3 (said.json): key: is missing; expected text"),
    "no value a line": ("values = 2", "values = 0", "(chances.csv): values: A line has one value or more, not 0"),
    "lines without a spelling": ('labels = {0 = "0", 1 = "1"}', "", "(choice.csv): labels: give either labels or"),
    "one column": ('columns = ["words", "labels"]', 'columns = ["words"]', "columns: Columns need the words, the gold"),
    "border too short": ('["-DOCSTART-", "O"]', '["-DOCSTART-"]', "columns: A border line has 2 fields"),
    "nameless source": ('source = "Nobody 2019, Table 1"', "", "(Thermometer): source: is missing"),
    "file is no list": ("[[file]]", "[file]", "moods.toml:"),
}


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_an_error_with_file_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in BOARD
    with pytest.raises(PluginError, match=re.escape(message)) as error:
        read(tmp_path, BOARD.replace(old, new, 1))
    assert str(error.value).startswith(str(tmp_path / "moods.toml"))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="cannot be read: No such file"):
        read_leaderboard(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (2.34567, "2.346"),
        (-3.0, "0.000"),
        (-0.0, "0.000"),
        (7, "5.000"),
        (4.9999, "5.000"),
        (1e-9, "0.000"),
        (5e300, "5.000"),
    ],
)
def test_numbers_are_clipped_and_rounded(answer: float, text: str) -> None:
    assert Number(0, 5, 3).write(answer) == text


@pytest.mark.parametrize(
    ("answer", "text"), [(0, "0.0"), (-0.0, "0.0"), (1e-20, "1e-20"), (1 / 3, repr(1 / 3)), (2, "1.0")]
)
def test_without_decimals_a_number_keeps_all_of_its_own(answer: float, text: str) -> None:
    assert Number(0, 1).write(answer) == text and Number(0, 1).advice(text) is None


def test_a_small_negative_number_is_not_written_as_minus_zero() -> None:
    assert Number(-1, 1, 2).write(-0.001) == "0.00"


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), float("-inf"), None, "warm"])
def test_what_is_no_finite_number_is_not_written(answer: object) -> None:
    with pytest.raises(ValueError, match="expected a finite number"):
        Number(0, 5, 3).write(answer)


def test_writing_and_checking_import_no_heavy_library() -> None:
    import subprocess
    import sys

    program = (
        "import sys, benchrunner.leaderboards.writing, benchrunner.leaderboards.checking; "
        "import benchrunner.tasks.prediction_files; "
        "print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    )
    heavy = ["torch", "numpy", "pyarrow", "sklearn", "scipy", "datasets"]
    process = subprocess.run([sys.executable, "-c", program, *heavy], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
