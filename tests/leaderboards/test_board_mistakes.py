"""Mistakes in the TOML file of a board are errors with the file and the key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchrunner.errors import PluginError
from benchrunner.leaderboards.board_toml import read_leaderboard
from board_texts import BOARD_TOML, read_board

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
        "kind: there is no kind of file 'sonnet'; the kinds are table, lines, json, jsonl, columns",
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
    assert old in BOARD_TOML
    with pytest.raises(PluginError, match=re.escape(message)) as error:
        read_board(tmp_path, BOARD_TOML.replace(old, new, 1))
    assert str(error.value).startswith(str(tmp_path / "moods.toml"))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match="cannot be read: No such file"):
        read_leaderboard(tmp_path / "none.toml")
