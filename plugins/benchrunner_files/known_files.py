"""Task files that were read: a task is found again by its name, in other processes and after its file was edited."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import RequestError, Task, Workspace, json_files
from benchrunner.engine import write_json
from benchrunner_files.task_files import task_of
from benchrunner_files.toml_text import TomlText

if TYPE_CHECKING:
    from benchrunner.results import Plugins

VARIABLE = "BENCHRUNNER_TASKS"
"""Environment variable with paths of task files, which worker processes get, also those on other machines."""
_NAME = re.compile(r"(?:file/)?([a-z0-9][a-z0-9._-]*)-[0-9a-f]{6}")


def read(path: Path, plugins: Plugins) -> Task:
    """Read the task of a file that the user names, and note it for worker processes and later commands."""
    file = TomlText.read(path)
    file = TomlText(path.absolute(), file.text)
    name = file.task_name
    if name in plugins.tasks:
        _check_same(file, plugins.tasks[name])
    task = task_of(file, plugins)
    noted = _noted_paths()
    if file.path not in noted:
        os.environ[VARIABLE] = os.pathsep.join(map(str, [*noted, file.path]))
    _keep(name, file)
    return task


def find(name: str, plugins: Plugins) -> Task | None:
    """Return the task `file/STEM-HASH`, from a noted file, from the working folder, or as it was when it was read."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    full = f"file/{name.removeprefix('file/')}"
    places = [*_noted_paths(), *_in_folder(match[1])]
    kept = _kept(full)
    for path in (*places, *(file.path for file in kept)):
        file = _readable(path)
        if file is not None and file.task_name == full:
            return task_of(file, plugins)
    if kept:  # the file was edited, moved or removed
        return task_of(kept[0], plugins)
    edited = [path for path in places if path.stem.lower() == match[1]]
    if edited:
        raise RequestError(
            f"{edited[0]}: the task {full} was read from another version of this file. Restore that version, or "
            "repeat the command with the file as it is now."
        )
    return None


def _check_same(file: TomlText, known: Task) -> None:
    """Raise a `RequestError` if a task of the same name was read from another file: its data may be other data."""
    source: Any = known.splits[known.train].sources[0]
    other = source.task_file
    if other.path.resolve() != file.path.resolve() or other.described != file.described:
        raise RequestError(
            f"{file.path} and {other.path} give their tasks the same name, {known.name}, so that results could not be "
            "told apart: rename one of the files."
        )


def _noted_paths() -> list[Path]:
    return [Path(text) for text in os.environ.get(VARIABLE, "").split(os.pathsep) if text]


def _in_folder(stem: str) -> list[Path]:
    """List the TOML files of the working folder with a name, in any case."""
    with contextlib.suppress(OSError):
        return sorted(path.absolute() for path in Path().glob("*.toml") if path.stem.lower() == stem)
    return []


def _readable(path: Path) -> TomlText | None:
    """Read a file that may be there, or may be something else by now."""
    try:
        return TomlText.read(path)
    except RequestError:
        return None


def _memory(name: str) -> Path:
    return Workspace.from_environment().cache / "task-files" / f"{name.removeprefix('file/')}.json"


def _keep(name: str, file: TomlText) -> None:
    """Keep the text of a file with its place; a folder that cannot be written to stops nothing."""
    for kept in _kept(name):
        if kept.described != file.described:
            raise RequestError(f"{file.path}: another file has the name {name} already: rename this file.")
        if kept == file:
            return
    with contextlib.suppress(OSError):
        write_json(_memory(name), {"path": str(file.path), "text": file.text})


def _kept(name: str) -> list[TomlText]:
    """Return the file of a name as it was when it was read last; empty if nobody knows."""
    with contextlib.suppress(RequestError, OSError, KeyError, TypeError, ValueError):
        memory = json_files.read_json_object(_memory(name))
        file = TomlText(Path(memory["path"]), memory["text"])
        return [file] if file.task_name == name else []
    return []
