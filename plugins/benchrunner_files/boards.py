"""Leaderboards of task files: the table [board] of a task file, or a TOML file of its own beside task files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import PluginError, RequestError
from benchrunner_files.toml_text import BOARD, TomlText
from benchrunner_submit import Leaderboard

if TYPE_CHECKING:
    from benchrunner.results import Plugins


def read_board(path: Path, plugins: Plugins) -> Leaderboard:
    """Read the leaderboard of a file; where it names a task by its file, this becomes the name of the task."""
    from benchrunner_submit import read_leaderboard

    text = TomlText.read(path)
    table, own = text.content, ""
    if "problem" in table:
        if not isinstance(table.get(BOARD), dict):
            raise RequestError(
                f"{path}: this task has no leaderboard: add a table [{BOARD}] with its files, or name a leaderboard."
            )
        task = plugins.tasks.find(str(path))
        own, table = task.name, table[BOARD]
        table = {"title": task.about, "url": path.name, **table}
    stem = text.task_name.removeprefix("file/").rpartition("-")[0]
    table = {"name": stem, "archive": f"{stem}.zip", **table}
    for key in ("file", "columns"):
        entries = table.get(key, [])
        for entry in entries.values() if isinstance(entries, dict) else entries:
            if isinstance(entry, dict):
                _name_task(entry, own, path.parent, plugins)
    try:
        return read_leaderboard(path, table)
    except PluginError as error:
        raise RequestError(str(error)) from None


def _name_task(entry: dict[str, Any], own: str, folder: Path, plugins: Plugins) -> None:
    """Put the name of a task in the place of its file's name, or of nothing."""
    named = entry.get("task", own)
    if isinstance(named, str) and named.endswith(".toml"):
        named = plugins.tasks.find(str(folder / named)).name
    if named:
        entry["task"] = named
