"""A user's own questions: plain texts, or a file in any layout that the task's own files have, labelled or not."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.data.delimited import TextTable
from benchrunner.data.rows import Rows
from benchrunner.data.sources import Source
from benchrunner.errors import DataError, RequestError
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    from benchrunner.tasks.task import Task


def read_questions(task: Task, path: Path, workspace: Workspace) -> Rows:
    """The checked rows of a file, without their labels."""
    if not path.is_file():
        raise RequestError(f"{path}: {'this is a folder, not a file' if path.is_dir() else 'there is no such file'}.")
    sources = [source for split in task.splits.values() for source in split.sources]
    tables = [source for source in sources if isinstance(source, TextTable)]
    found = _read_table(task, path, tables) if tables else _read_layout(task, path, sources, workspace)
    if len(found) == 0:
        raise DataError(f"{path}: no rows.")
    return task.checked(found, workspace, labelled=False)


def _read_layout(task: Task, path: Path, sources: list[Source], workspace: Workspace) -> Rows:
    """As the first layout that the task's files have."""
    for source in sources:
        if (moved := source.at(path)) is not None:
            return moved.unlabelled().read(workspace)
    raise RequestError(f"{task.name} has no file layout, so it cannot read {path}.")


def _read_table(task: Task, path: Path, own: list[TextTable]) -> Rows:
    """A .txt of one text a line, or a table whose header has our columns (a, b) or those of the task's own files."""
    workspace = Workspace(runs=Path(), cache=Path(), data=path.parent)
    separator = "," if path.suffix == ".csv" else "\t"
    wanted = [{name: column for name, column in one.columns.items() if name != "label"} for one in own]
    pairs = any("b" in columns for columns in wanted)
    if path.suffix == ".txt":
        if pairs:
            raise DataError(f"{path}: {task.name} asks about pairs of texts: give a table with the columns a and b.")
        return TextTable(path.name, {"a": "a"}, names=("a",), separator="\0").read(workspace)
    wanted.append({"a": "a", "b": "b"} if pairs else {"a": "a"})
    newline = None if separator == "," else "\n"  # as the readers of either have it
    with path.open(encoding="utf-8-sig", errors="replace", newline=newline) as file:
        first = file.readline().rstrip("\r\n")
    header = next(csv.reader([first]), []) if separator == "," else first.split(separator)
    columns = next((one for one in wanted if set(one.values()) <= set(header)), None)
    if columns is None:
        known = " or ".join(dict.fromkeys(", ".join(one.values()) for one in wanted))
        raise DataError(f"{path}:1: the header must name {known}; found {', '.join(header)}.")
    return TextTable(path.name, columns, separator=separator, quoted=separator == ",").read(workspace)
