"""The content of a file of a leaderboard, written from answers and checked."""

from __future__ import annotations

from dataclasses import replace

from benchrunner import PluginError, RequestError
from benchrunner_submit.board_file import BoardFile
from benchrunner_submit.file_kinds.file_kind import Answers


def file_content(file: BoardFile, answers: Answers, rows: int) -> bytes:
    """Write a file with the answers to so many rows, and check it; a `RequestError` if answers are wrong."""
    answers = _held_answers(file, answers)
    if len(answers.values) != rows:
        count = f"{len(answers.values):,} answers to {file.task}, split {file.split}"
        raise RequestError(f"{file.name}: {count}; expected {rows:,}.")
    table = file.rows_to_compare(answers.table)
    if file.kind.row_columns and (table is None or table.num_rows != rows):
        columns = ", ".join(file.kind.row_columns)
        raise RequestError(
            f"{file.name} holds columns of the rows of {file.task}, split {file.split}: give {rows:,} rows with "
            f"{columns} as the table of the answers. A task keeps columns that `Task.columns`, in a task file "
            "`keep`, names."
        )
    content = file.kind.write(file.name, answers)
    faults = file.kind.check(file.name, content, rows, table=table)
    if faults:  # an upload must not be wasted on a kind of file that writes what its own check refuses
        raise PluginError(f"{file.name} was written and does not pass its own check: {faults[0]}")
    return content


def _held_answers(file: BoardFile, answers: Answers) -> Answers:
    """Replace the values by the extra figure that the file holds, if it holds one."""
    if not file.extra_figure:
        return answers
    if file.extra_figure not in answers.extra_figures:
        known = ", ".join(answers.extra_figures) or "none"
        raise RequestError(
            f"{file.name}: needs the extra figure '{file.extra_figure}'; the extra figures of {file.task} are {known}."
        )
    return replace(answers, values=answers.extra_figures[file.extra_figure])
