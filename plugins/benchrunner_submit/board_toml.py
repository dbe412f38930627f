"""Reads leaderboards from .toml files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from benchrunner import PluginError, json_files
from benchrunner.engine import decoding
from benchrunner_submit.file_kinds.columns_file import Columns
from benchrunner_submit.file_kinds.file_kind import FileKind
from benchrunner_submit.file_kinds.json_file import JsonLines, JsonMap
from benchrunner_submit.file_kinds.spellings import LabelList, Labels, Number, Spelling, Text
from benchrunner_submit.file_kinds.text_files import Lines, Table as TableFile
from benchrunner_submit.leaderboard import Leaderboard
from benchrunner_submit.plugin_values import plugin_class

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
    own_kind = cache(lambda name: plugin_class(name, FileKind, "kind"))  # type: ignore[type-abstract]
    special = {
        FileKind: lambda table: _kind(table, own_kind),
        Spelling: _spelling,
        Labels: lambda table: table.made(Labels),
    }
    if table is None:
        table = json_files.read_toml(path, PluginError)
    return decoding.decoded(Leaderboard, table, path, PluginError, special, origin=str(path))


def _kind(table: decoding.Table, own_kind: Callable[[str], type[FileKind]]) -> FileKind:
    name = table.value("kind", str)
    if ":" in name:
        return _made(table, own_kind(name))
    if name not in KINDS:
        known = f"{', '.join(KINDS)}, and module:Class for a kind of a plugin's own"
        raise decoding.Mistake(f"there is no kind of file '{name}'; the kinds are {known}.", "kind")
    return table.made(KINDS[name])


def _made(table: decoding.Table, kind: type[FileKind]) -> FileKind:
    """Make a kind of a plugin's own: the fields of a dataclass are further keys, and another class takes none."""
    try:
        return table.made(kind) if is_dataclass(kind) else kind()
    except (TypeError, NameError) as error:
        advice = "It is a dataclass whose fields have types that TOML has, or takes no arguments"
        raise decoding.Mistake(f"{kind.__name__} cannot be made from the file's keys ({error}). {advice}.") from None


def _spelling(table: decoding.Table) -> Spelling:
    """Read how an answer is written. Files of JSON and of a plugin's own kind may hold any texts, without a key."""
    given = [key for key in ("labels", "number") if key in table]
    kind = table.value("kind", str)
    may_be_text = kind in ("json", "jsonl") or ":" in kind
    if len(given) > 1 or not (given or may_be_text):
        for key in () if given else table:
            if close := get_close_matches(key, ["labels", "number"], cutoff=0.8):  # "name" is 0.6
                raise decoding.Mistake(f"is not a key of this table. Did you mean {close[0]}?", key)
        raise decoding.Mistake("give either labels or number, to say how an answer is written.", "labels")
    if given == ["number"]:
        number: Number = table.value("number", Number)
        return number
    if not given:
        return Text()
    return table.made(LabelList if "list" in table and table.value("list", bool) else Labels)
