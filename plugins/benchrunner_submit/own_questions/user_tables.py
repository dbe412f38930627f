"""A user's table: in the layout of a task's own files, or in the format that its name says."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchrunner import DataError, Rows, TextTable, Workspace, quoted, sources
from benchrunner_tasks import TABLE_SUFFIXES, table_file


def read_user_table(
    path: Path, own: Sequence[sources.TableFile], layouts: Sequence[Mapping[str, str]], workspace: Workspace
) -> Rows:
    """Read a user's table, whose columns are named as in one of the layouts.

    `own` are the task's own files, one or more: their formats are tried first, and their encoding is expected. A layout
    maps the task's columns to those of a file; the first that fits is read.
    """
    own = [table.at(path) for table in own]
    named = [table_file(kind, path, {}, own[0].encoding) for kind in _kinds(path)]
    formats = set(map(_format, named))
    names: Sequence[str] = ()
    for table in [*(table for table in own if _format(table) in formats), *named]:
        names = table.column_names(path)
        optional = getattr(table, "optional", ())
        for columns in layouts:
            needed = [place for name, place in columns.items() if name not in optional]
            if all(place in names or place.partition(".")[0] in names for place in needed):
                return replace(table, columns=columns).read(workspace)
    expected = " or ".join(dict.fromkeys(", ".join(columns.values()) for columns in layouts))
    for table in own:
        if isinstance(table, TextTable) and table.names is not None:
            width = len(replace(table, names=None).column_names(path))
            if len(table.names) > 1:
                if width == len(table.names):
                    return table.read(workspace)
                expected += f", or {len(table.names)} columns, separated by {table.separator!r}, and no header"
    found = quoted(", ".join(names)) if any(names) else "an empty line"
    raise DataError(f"{path}:1: the columns must be {expected}; found {found}.")


def _kinds(path: Path) -> Collection[str]:
    """Return the kind of a table as its name says, or else those that it may have by its first line."""
    if kind := TABLE_SUFFIXES.get(path.suffix.lower()):
        return [kind]
    with path.open("rb") as file:
        line = file.readline(1 << 20).removeprefix(BOM_UTF8).lstrip()
    if line.startswith(b"PAR1"):
        return ["parquet"]
    if line.startswith(b"{"):
        return ["jsonl"]
    return ["tsv"] if b"\t" in line else ["tsv", "csv"]


def _format(table: sources.TableFile) -> tuple[object, ...]:
    """Return the class of a table, whether quotes enclose its fields, and its column names if it has no header."""
    return type(table), getattr(table, "quoted", None), getattr(table, "names", None)
