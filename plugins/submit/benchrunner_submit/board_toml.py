"""Reads leaderboards from .toml files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchrunner import FileKind, Leaderboard, PluginError, json_files
from benchrunner.engine import decoding
from benchrunner_submit.file_kinds.columns_file import Columns
from benchrunner_submit.file_kinds.json_file import JsonLines, JsonMap
from benchrunner_submit.file_kinds.spellings import Labels, Number, Spelling, Text
from benchrunner_submit.file_kinds.text_files import Lines, Table as TableFile

KINDS: Mapping[str, type[FileKind]] = {
    "table": TableFile,
    "lines": Lines,
    "json": JsonMap,
    "jsonl": JsonLines,
    "columns": Columns,
}
"""Value of the key `kind` -> the kind of file, whose fields are further keys."""


def read_leaderboard(path: Path, table: Mapping[str, Any] | None = None) -> Leaderboard:
    """Read the leaderboard that a .toml file describes. Raises a `PluginError` that names file and key.

    `table` is the part of the file that describes the leaderboard; None is the whole file.
    """
    special = {FileKind: _kind, Spelling: _spelling}
    if table is None:
        table = json_files.read_toml(path, PluginError)
    return decoding.decoded(Leaderboard, table, path, PluginError, special, origin=str(path))


def _kind(table: decoding.Table) -> FileKind:
    name = table.value("kind", str)
    if name not in KINDS:
        raise decoding.Mistake(f"there is no kind of file '{name}'; the kinds are {', '.join(KINDS)}.", "kind")
    return table.made(KINDS[name])


def _spelling(table: decoding.Table) -> Spelling:
    """Read how an answer is written. Files of JSON may hold any texts, which need neither key."""
    given = [key for key in ("labels", "number") if key in table]
    may_be_text = table.value("kind", str) in ("json", "jsonl")
    if len(given) > 1 or not (given or may_be_text):
        raise decoding.Mistake("give either labels or number, to say how an answer is written.", "labels")
    if given == ["number"]:
        number: Number = table.value("number", Number)
        return number
    return table.made(Labels) if given else Text()
