"""Reads leaderboards from .toml files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from benchrunner.errors import PluginError
from benchrunner.leaderboards.file_kinds.columns_file import Columns
from benchrunner.leaderboards.file_kinds.file_kind import FileKind
from benchrunner.leaderboards.file_kinds.json_file import JsonMap
from benchrunner.leaderboards.file_kinds.lines_file import Lines
from benchrunner.leaderboards.file_kinds.spellings import Labels, Number, Spelling, Text
from benchrunner.leaderboards.file_kinds.table_file import Table
from benchrunner.leaderboards.leaderboard import BoardFile, Leaderboard, Published
from benchrunner.strict_tables import StrictTable
from benchrunner.tasks.suites import Term


def read_leaderboard(path: Path) -> Leaderboard:
    """Read the leaderboard that a .toml file describes. Raises a `PluginError` that names file and key."""
    top = StrictTable.toml(path, PluginError)
    texts = {key: top.text(key) for key in ("name", "title", "url", "archive")}
    files = tuple(_file(table) for table in top.tables("file", "name"))
    columns = {name: _term(table) for name, table in top.named_tables("columns").items()}
    published = tuple(_published(table) for table in top.tables("published", "system", optional=True))
    note = top.text("note", "")
    top.finish()
    with top.naming("the board"):
        return Leaderboard(**texts, files=files, columns=columns, published=published, note=note)


def _file(table: StrictTable) -> BoardFile:
    name, task, split, rows = table.text("name"), table.text("task"), table.text("split"), table.whole("rows")
    kind_name = table.text("kind")
    if kind_name not in KINDS:
        raise table.wrong("kind", f"there is no kind of file '{kind_name}'; the kinds are {', '.join(KINDS)}.")
    kind = KINDS[kind_name](table)
    other_rows = {_count(table, key): text for key, text in table.named_texts("other_rows", optional=True).items()}
    extra_figure = table.text("extra_figure", "")
    table.finish()
    with table.naming("the file"):
        return BoardFile(name, task, split, rows, kind, other_rows, extra_figure)


def _table(table: StrictTable) -> FileKind:
    header, spelling = table.texts("header"), _spelling(table)
    if len(header) != 2:
        raise table.wrong("header", f"expected two names, index and answer, found {list(header)}.")
    with table.naming("header"):
        return Table((header[0], header[1]), spelling)


def _lines(table: StrictTable) -> FileKind:
    spelling, values = _spelling(table), table.whole("values") if "values" in table else 1
    with table.naming("values"):
        return Lines(spelling, values)


def _json_map(table: StrictTable) -> FileKind:
    has_spelling = "labels" in table or "number" in table
    return JsonMap(table.text("key"), _spelling(table) if has_spelling else Text())


def _columns(table: StrictTable) -> FileKind:
    columns, types, border = table.texts("columns"), table.texts("types"), table.texts("border")
    with table.naming("columns"):
        return Columns(columns, types, border)


KINDS: Mapping[str, Callable[[StrictTable], FileKind]] = {
    "table": _table,
    "lines": _lines,
    "json": _json_map,
    "columns": _columns,
}
"""Value of the key `kind` -> the reader of the further keys of that kind."""


def _spelling(table: StrictTable) -> Spelling:
    if ("labels" in table) == ("number" in table):
        raise table.wrong("labels", "give either labels or number, to say how an answer is written.")
    if "labels" in table:
        labels = table.named_texts("labels")
        with table.naming("labels"):
            return Labels(labels)
    number = table.table("number")
    low, high = number.number("low"), number.number("high")
    decimals = number.whole("decimals") if "decimals" in number else None
    outside = number.text("outside", "")
    number.finish()
    with table.naming("number"):
        return Number(low, high, decimals, outside)


def _count(table: StrictTable, key: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", key):
        raise table.wrong("other_rows", f"expected a number of rows as key, found '{key}'.")
    return int(key)


def _term(table: StrictTable) -> Term | None:
    """Read which figure belongs in a column; None for the empty table `{}`."""
    if not table:
        return None
    term = Term(table.text("task"), table.text("split"), table.text("metric"))
    table.finish()
    return term


def _published(table: StrictTable) -> Published:
    row = Published(
        system=table.text("system"),
        source=table.text("source"),
        cells=table.named_numbers("cells"),
        average=table.maybe_number("average"),
        score=table.maybe_number("score"),
        version=table.text("version", ""),
        notes=table.text("notes", ""),
    )
    table.finish()
    return row
