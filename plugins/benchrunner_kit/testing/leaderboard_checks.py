"""Check that a leaderboard keeps its contract: what its files hold, and what their own check finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import UnknownName, Workspace, guarded
from benchrunner_kit.testing.contract import Faults, found, refuse
from benchrunner_kit.testing.samples import Sample, with_data
from benchrunner_submit import Answers, BoardFile, Leaderboard, file_content

if TYPE_CHECKING:
    from benchrunner import Task


def check_leaderboard(
    board: Leaderboard, tasks: Iterable[Task], folder: Path, *, workspace: Workspace | None = None
) -> None:
    """Check that a leaderboard keeps its contract; raise a `PluginError` that lists every fault, with advice.

    `tasks` are those whose answers the board takes. Files of sample answers must pass the board's own check, and
    damaged files must not. The rows are those of `workspace`, or of the tasks' demo files, which are written below
    `folder`.
    """
    known = {task.name: task for task in tasks}
    faults = found("checking files against tasks", _check_board(board, known, folder, workspace))
    refuse(f"the leaderboard '{board.name}'", faults)


def _check_board(board: Leaderboard, known: Mapping[str, Task], folder: Path, workspace: Workspace | None) -> Faults:
    board.check_tasks(known, list(known))
    for file in board.files:
        if file.task not in known:
            raise UnknownName("task", file.task, known)
        task = known[file.task]
        checked = _check_file(file, task, with_data([task], folder, workspace))
        yield from found(f"answering sample rows for {file.name}", checked)


def _check_file(file: BoardFile, task: Task, workspace: Workspace) -> Faults:
    """Check that sample answers pass the file's own check, are written alike twice, and that damage is found."""
    split = task.splits[file.split]
    if split.role == "train":
        yield f"{file.name} is for the split '{file.split}' of {task.name}, from which fits learn: name a test split"
    if split.rows not in (None, file.rows):
        yield (
            f"{file.name} has {file.rows:,} rows, and the split '{file.split}' of {task.name} has {split.rows:,}: mend "
            "either"
        )
    problem = task.problem
    sample = Sample(problem, task.load(file.split, workspace).table, task.recipe)
    rows = len(sample.table)
    figures = problem.extra_figures(sample.raw, sample.table, problem.decoding)
    answers = Answers(sample.answers(sample.raw), sample.table, figures, fit="check", method="check")
    content = file_content(file, answers, rows)
    if file_content(file, answers, rows) != content:
        yield f"{file.name} differs from call to call: write the same bytes for the same answers"
    if len(content) > file.kind.max_bytes(rows):
        yield f"{file.name} has {len(content):,} bytes for {rows:,} rows: let `max_bytes` of its kind allow them"
    lines = content.rstrip().splitlines(keepends=True)
    damages = {
        "is empty": b"",
        "is cut in the middle": content[: len(content) // 2],
        "lost its last line": b"".join(lines[:-1]),
        "is twice as long": content + content,
        "is no text": b"\xff\xfe\x00\x01" * 8,
    }
    table = file.rows_to_compare(sample.table)
    for damage, damaged in damages.items():
        with guarded(f"checking {file.name} where it {damage}"):
            faults = file.kind.check(file.name, damaged, rows, file.other_rows, table)
        if not faults and damaged != content:
            yield f"{file.name} passes its check where it {damage}: let `read` of its kind find this"
