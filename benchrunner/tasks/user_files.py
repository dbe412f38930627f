"""Read a user's own questions: a text per line, or a file in a layout that the task's own files have."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.data.delimited import TextTable
from benchrunner.data.rows import Rows
from benchrunner.data.sources import Source
from benchrunner.errors import DataError, RequestError
from benchrunner.file_faults import quoted
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    from benchrunner.tasks.task import Task


def read_questions(task: Task, path: Path, workspace: Workspace) -> Rows:
    """Return the checked rows of a user's file. Labels are not needed and, in known layouts, not read."""
    if not path.is_file():
        raise RequestError(f"{path}: {'this is a folder, not a file' if path.is_dir() else 'there is no such file'}.")
    sources = [source for split in task.splits.values() for source in split.sources]
    tables = [source for source in sources if isinstance(source, TextTable)]
    rows = _read_table(task, path, tables) if tables else _read_layout(task, path, sources, workspace)
    if len(rows) == 0:
        raise DataError(f"{path}: no rows.")
    return task.checked(rows, workspace, labelled=False)


def _read_layout(task: Task, path: Path, sources: Sequence[Source], workspace: Workspace) -> Rows:
    """Read the file with the first of the task's sources that reads files."""
    for source in sources:
        if (moved := source.at(path)) is not None:
            return moved.unlabelled(task.problem.label_columns).read(workspace)
    raise RequestError(f"{task.name} has no file layout, so it cannot read {path}.")


def _read_table(task: Task, path: Path, tables: Sequence[TextTable]) -> Rows:
    """Read a table whose header names the task's columns or its files' columns, or a .txt file of one text per line."""
    workspace = Workspace(runs=Path(), cache=Path(), data=path.parent)
    encoding = tables[0].encoding
    layouts = [table.unlabelled(task.problem.label_columns).columns for table in tables]
    names = list(dict.fromkeys(name for columns in layouts for name in columns))
    if path.suffix == ".txt":
        if len(names) != 1:
            needed = f"{', '.join(names[:-1])} and {names[-1]}"
            raise DataError(f"{path}: {task.name} asks about several texts: give a table with the columns {needed}.")
        return TextTable(path.name, {names[0]: "text"}, names=("text",), separator="\0", encoding=encoding).read(
            workspace
        )
    separator = "," if path.suffix == ".csv" else "\t"
    header = _header(path, separator, encoding)
    layouts.append({name: name for name in names})
    columns = next((columns for columns in layouts if set(columns.values()) <= set(header)), None)
    if columns is None:
        known = " or ".join(dict.fromkeys(", ".join(columns.values()) for columns in layouts))
        found = quoted(", ".join(header)) if any(header) else "an empty line"
        raise DataError(f"{path}:1: the header must name {known}; found {found}.")
    is_csv = separator == ","
    return TextTable(path.name, columns, separator=separator, quoted=is_csv, encoding=encoding).read(workspace)


def _header(path: Path, separator: str, encoding: str) -> list[str]:
    """Return the column names in the first line of a file."""
    newline = None if separator == "," else "\n"  # as the readers of CSV and TSV end lines
    with path.open(
        encoding="utf-8-sig" if encoding == "utf-8" else encoding, errors="replace", newline=newline
    ) as file:
        line = file.readline().rstrip("\r\n")
    return next(csv.reader([line]), []) if separator == "," else line.split(separator)
