"""Read a user's own questions: files in the layout of the task's own files, tables, JSON lines, or plain lines."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import (
    DataError,
    Filtered,
    JsonTable,
    RequestError,
    Reshaped,
    Rows,
    Source,
    TextTable,
    Workspace,
    quoted,
    read_text,
)

if TYPE_CHECKING:
    from benchrunner import Task
    from benchrunner.results import Answered, Runner

_LISTS: Mapping[str, str | None] = {"words": None, "choices": "\t"}
"""Last column of a plain line that is a list -> what separates its texts; None is any white space."""
_ROWS_AT_ONCE = 16_384
"""Number of plain lines that are Python's values at once: these take ten times the memory of a table."""


def answer_file(references: Sequence[str], runner: Runner, file: Path, *, lines: bool = False) -> Answered:
    """Answer a user's file with finished fits of one task, as `benchrunner.results.answer` answers a split.

    The file is in the layout of the task's own files, labelled or not; with `lines`, it is plain text with a row on
    each line.
    """
    from benchrunner.results import answer

    return answer(references, runner, read=lambda task, workspace: read_questions(task, file, workspace, lines=lines))


def read_questions(task: Task, path: Path, workspace: Workspace, *, lines: bool = False) -> Rows:
    """Return the checked rows of a user's file. Labels are not needed and, in known layouts, not read.

    The layouts of the task's own files are tried first, then tables and JSON lines with the names of its columns. With
    `lines`, each line is a row of plain text.
    """
    if not path.is_file():
        raise RequestError(f"{path}: {'this is a folder, not a file' if path.is_dir() else 'there is no such file'}.")
    tables = [source for source in _sources(task) if isinstance(source, TextTable)]
    lines = lines or is_plain(task, path)
    try:
        if lines:
            rows = _plain_lines(task, path)
        elif tables:
            rows = _read_table(task, path, tables)
        else:
            rows = _read_layout(task, path, workspace)
    except DataError as error:
        if lines or path.suffix not in ("", ".lst", ".txt"):
            raise
        raise DataError(f"{error} If each line is a question in plain text, add --lines.") from error
    if not len(rows):
        raise DataError(f"{path}: no rows.")
    return task.checked(rows, workspace, labelled=False)


def is_plain(task: Task, path: Path) -> bool:
    """Return whether a file is plain text by its name: .txt, where a line has one text or several."""
    columns = _line_columns(task)
    return path.suffix == ".txt" and bool(columns) and columns[-1] not in _LISTS


def _sources(task: Task) -> list[Source]:
    return [source for split in task.splits.values() for source in split.sources]


def _read_layout(task: Task, path: Path, workspace: Workspace) -> Rows:
    """Read the file with the first of the task's sources that reads files."""
    for source in _sources(task):
        if isinstance(source, JsonTable) and source.rows is None and path.suffix in (".csv", ".tsv"):
            table = TextTable(path.name, source.columns, encoding=source.encoding)
            return _read_table(task, path, [table])
        if (moved := source.at(path)) is not None:
            return moved.unlabelled(task.problem.label_columns).read(workspace)
    raise RequestError(f"{task.name} has no file layout, so it cannot read {path}.")


def _read_table(task: Task, path: Path, tables: Sequence[TextTable]) -> Rows:
    """Read a table in one of the task's own layouts, or with the names of its columns."""
    workspace = Workspace(runs=Path(), cache=Path(), data=path.parent)
    own = []
    for table in tables:  # each row wants an answer, so that no row may be left out
        own.append(
            replace(
                table.unlabelled(task.problem.label_columns), path=path.name, counted=None, breaks_inside_fields=False
            )
        )
    encoding = own[0].encoding
    layouts = [table.columns for table in own]
    layouts.append({name: name for layout in layouts for name in layout})
    if _is_json_lines(path):
        return _json_table(path, layouts, encoding).read(workspace)
    is_csv = path.suffix == ".csv"
    headed = [table for table in own if table.names is None and table.quoted == is_csv]
    headerless = [table for table in own if table.names is not None]
    fitting = _first_that_fits(path, headed) or _with_header(path, layouts, encoding)
    if fitting := fitting or _first_that_fits(path, headerless):
        return fitting.read(workspace)
    read_text(path, encoding=encoding)  # raises a better error for what is no text
    header = _header(path, "," if is_csv else "\t", encoding)
    found = quoted(", ".join(header)) if any(header) else "an empty line"
    also = f", or the file has {len(headerless[0].names or ())} columns and no header" if headerless else ""
    raise DataError(f"{path}:1: the header must name {_known(layouts)}{also}; found {found}.")


def _known(layouts: Sequence[Mapping[str, str]]) -> str:
    """List the columns of each layout, for an error."""
    return " or ".join(dict.fromkeys(", ".join(layout.values()) for layout in layouts))


def _with_header(path: Path, columns: Sequence[Mapping[str, str]], encoding: str) -> TextTable | None:
    """Return the table of a file whose header names the columns of a layout; None if the header names others.

    A file that is called .csv is CSV, one that is called .tsv is TSV; the name of standard input says neither.
    """
    separators = {".csv": ",", ".tsv": "\t"}.get(path.suffix, "\t,")
    for separator in separators:
        header = set(_header(path, separator, encoding))
        for layout in columns:
            if header.issuperset(layout.values()):
                is_csv = separator == ","
                return TextTable(path.name, layout, separator=separator, quoted=is_csv, encoding=encoding)
    return None


def _first_that_fits(path: Path, tables: Sequence[TextTable]) -> TextTable | None:
    """Return the first of a task's own layouts that the first line of a file has."""
    for table in tables:
        fields = _header(path, table.separator, table.encoding, is_quoted=table.quoted)
        has_columns = set(fields).issuperset(table.columns.values())
        if has_columns if table.names is None else len(fields) == len(table.names) > 1:
            return table
    return None


def _line_columns(task: Task) -> Sequence[str]:
    """Return the columns of a line of plain text; none where neither the problem nor a source names them."""
    known = dict[str, Any]()
    for source in _sources(task):
        while isinstance(source, Filtered | Reshaped):
            source = source.source
        if isinstance(columns := getattr(source, "columns", None), Mapping):
            known |= columns
    texts = [name for name in ("a", "b") if name in known]
    return task.problem.line_columns or texts or [name for name in known if name not in task.problem.label_columns]


def _plain_lines(task: Task, path: Path) -> Rows:
    """Read a file of plain text, a row on each line that is not blank: see `Problem.line_columns`."""
    import pyarrow as pa

    columns = _line_columns(task)
    if not columns:
        raise RequestError(f"{task.name} does not say what a line of plain text holds: leave --lines out.")
    last = columns[-1]
    numbers = array("q")
    tables = []
    rows = []
    for number, line in _numbered_lines(path):
        fields: list[Any] = line.rstrip("\r").split("\t", len(columns) - 1)
        if not line.strip():
            continue
        if len(fields) < len(columns) or ("\t" in fields[-1] and len(columns) > 1 and last not in _LISTS):
            form = " TAB ".join(columns)
            raise DataError(f"{path}:{number}: a line of plain text for {task.name} is: {form}; found {quoted(line)}.")
        if last in _LISTS:
            fields[-1] = fields[-1].split(_LISTS[last])
        numbers.append(number)
        rows.append({"id": str(number), "document": number, **dict(zip(columns, fields, strict=True))})
        if len(rows) == _ROWS_AT_ONCE:
            tables.append(pa.Table.from_pylist(rows))
            rows = []
    if rows or not tables:
        tables.append(pa.Table.from_pylist(rows))
    notes = ("each line is a document of its own: no context of neighbouring lines",) if last == "words" else ()
    return Rows(pa.concat_tables(tables), str(path), numbers, notes)


def _numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers, from 1. A list of the lines takes more than the text."""
    text = read_text(path)
    number, start = 1, 0
    while (end := text.find("\n", start)) >= 0:
        yield number, text[start:end]
        number, start = number + 1, end + 1
    yield number, text[start:]


def _is_json_lines(path: Path) -> bool:
    """Return whether a file holds JSON lines, by its name, or else by its first character."""
    if path.suffix:
        return path.suffix in (".jsonl", ".json", ".ndjson")
    with path.open("rb") as file:
        return file.read(1 << 10).lstrip().startswith(b"{")


def _json_table(path: Path, columns: Sequence[Mapping[str, str]], encoding: str) -> JsonTable:
    """Return the table of a file of JSON lines whose first object has the keys of a layout."""
    first = JsonTable(path.name, {}, encoding=encoding).first(Workspace(Path(), Path(), data=path.parent))
    for layout in columns:
        if set(layout.values()) <= first.keys():
            return JsonTable(path.name, layout, encoding=encoding)
    raise DataError(f"{path}:1: the keys must be {_known(columns)}; found {quoted(', '.join(first))}.")


def _header(path: Path, separator: str, encoding: str, *, is_quoted: bool | None = None) -> list[str]:
    """Return the fields of the first line of a file."""
    is_quoted = separator == "," if is_quoted is None else is_quoted
    newline = None if is_quoted else "\n"  # as the readers of CSV and TSV end lines
    with path.open(
        encoding="utf-8-sig" if encoding == "utf-8" else encoding, errors="replace", newline=newline
    ) as file:
        line = file.readline().rstrip("\r\n")
    return next(csv.reader([line], delimiter=separator), []) if is_quoted else line.split(separator)
