"""From a study to a leaderboard's answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from benchrunner import studies
from benchrunner.errors import DataError, RequestError
from benchrunner.runner import MAJORITY
from benchrunner.sources import NotThere
from benchrunner.submissions import Answers

if TYPE_CHECKING:
    from benchrunner.leaderboards import Leaderboard
    from benchrunner.runner import Runner
    from benchrunner.studies import Result
    from benchrunner.tasks import Task


def missing(board: Leaderboard, tasks: Iterable[Task], chosen: Sequence[str], runner: Runner) -> dict[str, str]:
    """The board's tasks that cannot be answered by a fit -> why: nobody asked for them, or a split is nowhere."""
    absent = {}
    for task in tasks:
        if task.name not in chosen:
            absent[task.name] = "not among --tasks"
            continue
        tests = [split for name, split in board.wanted if name == task.name]
        for split in [task.train, *task.named("dev"), *tests]:
            try:
                runner.rows(task, split)
            except NotThere:
                absent[task.name] = f"no data for its split {split}"
                break
    return absent


def check_counts(board: Leaderboard, tasks: Iterable[Task], runner: Runner) -> None:
    """A `RequestError` where test rows are not as many as the board wants: better before the fitting than after."""
    wrong = []
    for task in tasks:
        for file in board.files_of(task.name):
            rows = runner.rows(task, file.split)
            if len(rows) != file.rows:
                wrong.append(
                    f"  - {file.name}: {rows.origin} has {len(rows):,} rows; {board.title} wants {file.rows:,}"
                )
    if wrong:
        listed = "\n".join(wrong)
        raise RequestError(f"{board.title} would refuse answers to these files:\n{listed}\nNothing was fitted.")


def answers(
    board: Leaderboard, result: Result | None, absent: Mapping[str, str], runner: Runner
) -> dict[tuple[str, str], Answers]:
    """Every file's answers: the selected fits', and the majority's where a task is absent."""
    found = {}
    for name, split in board.wanted:
        if name in absent:
            found[name, split] = _filled(board, name, split, absent[name], runner)
        elif result is not None:
            cell = next(one for one in result.cells if one.cell.task.name == name)
            fit = studies.selected(cell)
            found[name, split] = Answers(runner.predict(fit, split).answers, fit=fit.id, method=fit.method)
    return found


def _filled(board: Leaderboard, name: str, split: str, why: str, runner: Runner) -> Answers:
    """The majority of the training rows; without them one and the same answer, which is said."""
    task = runner.plugins.task(name)
    rows = next(file.rows for file in board.files if (file.task, file.split) == (name, split))
    try:
        table = runner.rows(task, task.train).table
    except DataError:
        import numpy as np

        width = task.problem.head.width
        guess = task.problem.decode(np.eye(1, width, dtype=np.float32))[0]
        return Answers(
            [guess] * rows, method=MAJORITY, filled=f"{why}; no training rows to count, so '{guess}' everywhere"
        )
    (guess,) = task.problem.decode(task.problem.constant(table)[None])
    return Answers([guess] * _count(task, split, rows, runner), method=MAJORITY, filled=f"{why}; the training majority")


def _count(task: Task, split: str, official: int, runner: Runner) -> int:
    try:
        return len(runner.rows(task, split))
    except (DataError, RequestError):
        return official
