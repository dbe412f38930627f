"""Mistakes in the TOML file of a board are errors with the file and the key."""

import re
from pathlib import Path

import pytest

from benchrunner.errors import PluginError
from board_texts import BOARD_TOML, read_board

MISTAKES = {
    "unknown key": ("rows = 2", "rows = 2\nrow = 3", "[[file]] 2 (Warmth.tsv): row: is not a key of this table. Did"),
    "no rows": ("rows = 3", "rows = 0", "Mood.tsv needs at least one row, not 0"),
    "unknown kind": ('kind = "table"', 'kind = "sonnet"', "kind: there is no kind of file 'sonnet'; the kinds are"),
    "key of another kind": ('key = "id"', 'key = "id"\nheader = ["a", "b"]', "header: is not a key of this table"),
    "header twice": ('["index", "prediction"]', '["a", "a"]', "A table's header is two different names"),
    "header with a tab": ('["index", "prediction"]', '["a", "b\\t"]', "A column's name is one printable word"),
    "spelling misspelt": ("labels = {sad", "lables = {sad", "lables: is not a key of this table. Did you mean labels?"),
    "no spelling": ('labels = {sad = "0", glad = "1"}', "", "labels: give either labels or number"),
    "two spellings": ("number = {", 'labels = {a = "0", b = "1"}\nnumber = {', "labels: give either labels or number"),
    "one label": ('labels = {sad = "0", glad = "1"}', 'labels = {sad = "0"}', "Labels map two or more labels"),
    "same text": ('glad = "1"', 'glad = "0"', "Two labels share one text"),
    "space in a text": ('glad = "1"', 'glad = "1 "', "A label's text is one printable word"),
    "range upside down": ("low = 0, high = 5", "low = 5, high = 0", "number: A number needs low < high"),
    "range too fine": ("high = 5", "high = 4.9999", "number: 0 to 4.9999 cannot be written with 3 decimals"),
    "task without suite": ('"mine/warmth"', '"warmth"', "A task's name is 'suite/task' in lower case, not 'warmth'"),
    "file in a folder": ('"Warmth.tsv"', '"../Warmth.tsv"', "and no folder; found '../Warmth.tsv'"),
    "file twice": ('"Warmth.tsv"', '"mood.tsv"', "several files have the same name: Mood.tsv, mood.tsv"),
    "loud name": ('name = "moods"', 'name = "My Moods"', "short and lower case, without spaces, not 'My Moods'"),
    "no archive": ('archive = "moods.zip"', "", "the archive is NAME.zip, or NAME/ for a folder, not ''"),
    "a folder's folder": ('"moods.zip"', '"my/moods/"', "the archive is NAME.zip, or NAME/ for a folder, not"),
    "cell of no column": ("cells = {Mood", "cells = {Moood", "Thermometer (mercury) has a cell 'Moood'; the columns"),
    "row of no cells": ("cells = {Mood = 81}", "cells = {}", "[[published]] 2 (Barometer): Barometer has no cells"),
    "figure twice": (
        'system = "Barometer"\nsource = "Nobody 2019, Table 2"',
        'system = "Thermometer"\nvariant = "mercury"\nversion = "second"\nsource = "Nobody 2019, Table 1"',
        "Thermometer (mercury) has two figures in the column 'Mood' from Nobody 2019, Table 1",
    ),
    "comma in a system": ('system = "Barometer"', 'system = "Bar, o"', "(Bar, o): A system's name has no comma and is"),
    "reserved system": ('system = "Barometer"', 'system = "all"', "(all): A system's name has no comma and is not all"),
    "metric and average": ('metric = "f1"', 'metric = "f1", average = "f1"', "hidden.average: says the same as metric"),
    "no value a line": ("values = 2", "values = 0", "[[file]] 6 (chances.csv): A line has one value or more, not 0"),
    "lines without a spelling": ('labels = {0 = "0", 1 = "1"}', "", "(choice.csv): labels: give either labels or"),
    "one column": ('columns = ["words", "labels"]', 'columns = ["words"]', "(tags.out): Columns need the words, the"),
    "border too short": ('["-DOCSTART-", "O"]', '["-DOCSTART-"]', "(tags.out): A border line has 2 fields"),
}


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_an_error_with_file_and_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in BOARD_TOML
    with pytest.raises(PluginError, match=re.escape(message)) as error:
        read_board(tmp_path, BOARD_TOML.replace(old, new, 1))
    assert str(error.value).startswith(str(tmp_path / "moods.toml"))
