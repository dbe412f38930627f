"""Reads leaderboards from .toml files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from benchrunner.errors import PluginError
from benchrunner.io.strict_tables import StrictTable
from benchrunner.leaderboards.file_kinds.columns_file import Columns
from benchrunner.leaderboards.file_kinds.file_kind import FileKind
from benchrunner.leaderboards.file_kinds.json_file import JsonMap
from benchrunner.leaderboards.file_kinds.json_lines_file import JsonLines
from benchrunner.leaderboards.file_kinds.lines_file import Lines
from benchrunner.leaderboards.file_kinds.spellings import Labels, Number, Spelling, Text
from benchrunner.leaderboards.file_kinds.table_file import Table
from benchrunner.leaderboards.leaderboard import BoardFile, Leaderboard
from benchrunner.leaderboards.published import SPLIT_KINDS, PublishedColumn, PublishedRow, SplitKind


def read_leaderboard(path: Path) -> Leaderboard:
    """Read the leaderboard that a .toml file describes. Raises a `PluginError` that names file and key."""
    top = StrictTable.toml(path, PluginError)
    texts = {key: top.text(key) for key in ("name", "title", "url")}
    files = tuple(_file(table) for table in top.tables("file", "name", optional=True))
    archive = top.text("archive") if files or "archive" in top else ""
    columns = {name: _column(table) for name, table in top.named_tables("columns").items()}
    published = tuple(_published(table, columns) for table in top.tables("published", "system", optional=True))
    note = top.text("note", "")
    top.finish()
    with top.naming("the board"):
        return Leaderboard(
            **texts, archive=archive, files=files, columns=columns, published=published, note=note, origin=str(path)
        )


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


def _json_lines(table: StrictTable) -> FileKind:
    has_spelling, keys = "labels" in table or "number" in table, ["idx", "label"]
    column, spelling = table.text("column"), _spelling(table) if has_spelling else Text()
    if "keys" in table:
        keys = list(table.texts("keys"))
    if len(keys) != 2:
        raise table.wrong("keys", f"expected two keys, of the id and of the answer, found {keys}.")
    with table.naming("keys"):
        return JsonLines(column, spelling, (keys[0], keys[1]))


def _columns(table: StrictTable) -> FileKind:
    columns, types, border = table.texts("columns"), table.texts("types"), table.texts("border")
    with table.naming("columns"):
        return Columns(columns, types, border)


KINDS: Mapping[str, Callable[[StrictTable], FileKind]] = {
    "table": _table,
    "lines": _lines,
    "json": _json_map,
    "jsonl": _json_lines,
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


def _column(table: StrictTable) -> PublishedColumn:
    """Read what a column of published figures measures."""
    kind = table.text("kind")
    if kind not in SPLIT_KINDS:
        raise table.wrong("kind", f"there is no kind of split '{kind}'; the kinds are {' and '.join(SPLIT_KINDS)}.")
    if ("task" in table) == ("suite" in table):
        raise table.wrong("task", "give either task and metric, or suite and average.")
    split_kind = cast(SplitKind, kind)
    if "suite" in table:
        column = PublishedColumn(split_kind, table.text("average"), suite=table.text("suite"))
    else:
        column = PublishedColumn(
            split_kind,
            table.text("metric"),
            task=table.text("task"),
            split=table.text("split", ""),
            beside=table.text("beside", ""),
        )
    table.finish()
    return column


def _published(table: StrictTable, columns: Mapping[str, PublishedColumn]) -> PublishedRow:
    texts = {key: table.text(key, "") for key in ("variant", "version", "notes", "other_data")}
    system, source, cells = table.text("system"), table.text("source"), table.named_numbers("cells")
    by_default, backbones = table.flag("by_default"), table.texts("backbones") if "backbones" in table else ()
    table.finish()
    for name in cells:
        if name not in columns:
            raise table.wrong(
                f"cells.{name}", f"there is no such column; the columns are {', '.join(columns) or 'none'}."
            )
    with table.naming("system"):
        return PublishedRow(system, source, cells, **texts, by_default=by_default, backbones=backbones)
