"""Read a user's own questions: files in the layout of the task's own files, tables, JSON lines, or plain lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import (
    DataError,
    RequestError,
    Rows,
    Source,
    Workspace,
    quoted,
    sources,
    text_lines,
)
from benchrunner.results import ensembles, predicting
from benchrunner_submit.own_questions.user_tables import read_user_table

if TYPE_CHECKING:
    from benchrunner import Task
    from benchrunner.results import Runner

_LISTS: Mapping[str, str | None] = {"words": None, "choices": "\t"}
"""Last column of a plain line that is a list -> what separates its texts; None is any white space."""
LINES_AT_ONCE = predicting.ROWS_AT_ONCE
"""Most plain lines that are answered at once: rows and answers of more would fill the memory."""


def answer_file(
    references: Sequence[str], runner: Runner, file: Path, *, lines: bool = False, at_once: int = LINES_AT_ONCE
) -> Iterator[ensembles.Answered]:
    """Yield the answers of finished fits of one task to a user's file, a block of rows at a time.

    The file is in the layout of the task's own files, labelled or not, which is one block; with `lines`, or as a .txt
    file, it is plain text with a row on each line, and blocks have `at_once` lines. `references` are as in
    `benchrunner.results.answer`.
    """
    return ensembles.answer_blocks(
        references,
        runner,
        lambda task, runner: read_questions(task, file, runner.workspace, lines=lines, at_once=at_once),
    )


def read_questions(
    task: Task, path: Path, workspace: Workspace, *, lines: bool = False, at_once: int = LINES_AT_ONCE
) -> Iterator[Rows]:
    """Yield the checked rows of a user's file. Labels are not needed and, in known layouts, not read.

    The layouts of the task's own files are tried first, then tables and JSON lines with the names of its columns. With
    `lines`, each line is a row of plain text.
    """
    if not path.is_file():
        raise RequestError(f"{path}: {'this is a folder, not a file' if path.is_dir() else 'there is no such file'}.")
    if lines or is_plain(task, path):
        blocks: Iterable[Rows] = _plain_lines(task, path, at_once)
        # Faults of all lines are found before the first is answered.
        count = sum(len(task.checked(rows, workspace, labelled=False)) for rows in _plain_lines(task, path, at_once))
    else:
        try:
            blocks = [_read_layout(task, path, workspace)]
        except DataError as error:
            if path.suffix not in ("", ".lst", ".txt"):
                raise
            raise DataError(f"{error} If each line is a question in plain text, add --lines.") from error
        count = len(blocks[0])
    if not count:
        raise DataError(f"{path}: no rows.")
    for rows in blocks:
        yield task.checked(rows, workspace, labelled=False)


def is_plain(task: Task, path: Path) -> bool:
    """Return whether a file is plain text by its name: .txt, where a line has one text or several."""
    columns = _line_columns(task)
    return path.suffix == ".txt" and bool(columns) and columns[-1] not in _LISTS


def _sources(task: Task) -> list[Source]:
    return [source for split in task.splits.values() for source in split.sources]


def _read_layout(task: Task, path: Path, workspace: Workspace) -> Rows:
    """Read a table, or a file in the layout of the first of the task's sources that reads files."""
    labels = task.problem.label_columns
    own = list[sources.TableFile]()
    for source in _sources(task):
        if isinstance(source, sources.TableFile) and getattr(source, "rows", None) is None:
            own.append(source.unlabelled(labels))
    if own:
        layouts = [table.columns for table in own]
        layouts.append({name: name for columns in layouts for name in columns})
        return read_user_table(path, own, layouts, workspace)
    for source in _sources(task):
        if (moved := source.at(path)) is not None:
            return moved.unlabelled(labels).read(workspace)
    raise RequestError(f"{task.name} has no file layout, so it cannot read {path}.")


def _line_columns(task: Task) -> Sequence[str]:
    """Return the columns of a line of plain text; none where neither the problem nor a source names them."""
    known = dict[str, Any]()
    for source in _sources(task):
        while isinstance(source, sources.OfSource):
            source = source.source
        if isinstance(columns := getattr(source, "columns", None), Mapping):
            known |= columns
    texts = [name for name in ("a", "b") if name in known]
    return task.problem.line_columns or texts or [name for name in known if name not in task.problem.label_columns]


def _plain_lines(task: Task, path: Path, at_once: int) -> Iterator[Rows]:
    """Yield the rows of a file of plain text, a row on each line that is not blank: see `Problem.line_columns`."""
    import pyarrow as pa

    columns = _line_columns(task)
    if not columns:
        raise RequestError(f"{task.name} does not say what a line of plain text holds: leave --lines out.")
    last = columns[-1]
    notes = ("each line is a document of its own: no context of neighbouring lines",) if last == "words" else ()
    rows = []
    lines = ((number, line) for number, line in enumerate(text_lines(path), 1) if line.strip())
    for first in lines:
        for number, line in chain([first], islice(lines, at_once - 1)):
            fields: list[Any] = line.rstrip("\r").split("\t", len(columns) - 1)
            if len(fields) < len(columns) or ("\t" in fields[-1] and len(columns) > 1 and last not in _LISTS):
                form = " TAB ".join(columns)
                raise DataError(
                    f"{path}:{number}: a line of plain text for {task.name} is: {form}; found {quoted(line)}."
                )
            if last in _LISTS:
                fields[-1] = fields[-1].split(_LISTS[last])
            rows.append({"id": str(number), "document": number, **dict(zip(columns, fields, strict=True))})
        block = Rows(pa.Table.from_pylist(rows), str(path), [row["document"] for row in rows], notes)
        rows.clear()  # while the block is answered, it is in memory once
        yield block
