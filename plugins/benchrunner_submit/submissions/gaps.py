"""Gaps of a submission: what a leaderboard wants and no fit answers, with what fills it and what to do about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import final

from benchrunner import DataNotFound, RequestError, Rows, Task, Workspace
from benchrunner.results import Runner, predicting
from benchrunner_submit.board_file import BoardFile, Pair
from benchrunner_submit.file_kinds.file_kind import Answers
from benchrunner_submit.leaderboard import Leaderboard

Gaps = Mapping[Pair, str]
"""Task and split that no fit can answer -> the reason."""

NO_DATA = "no data for its split"
NO_RUN = "none of the finished runs is of this task"
NOT_ASKED = "not among --tasks"
_REMEDIES = {
    NO_DATA: "Give the data with --data DIR; 'benchrunner data status TASK --data DIR' shows where files belong.",
    NO_RUN: "Give a finished run of each task: 'benchrunner runs list' shows them.",
    NOT_ASKED: "Name all tasks in --tasks, or leave it out.",
}
"""Beginning of a reason -> what to do."""


@final
@dataclass(frozen=True)
class Settled:
    """What is written although a leaderboard wants more than fits can answer."""

    board: Leaderboard
    """The leaderboard with the files that are written."""
    tasks: tuple[Task, ...]
    """The tasks that fits answer."""
    filled: Mapping[Pair, Answers]
    """Answers that fill gaps."""
    left_out: Mapping[str, str]
    """Name of a file that is not written -> the reason."""


def settle(board: Leaderboard, missing: Gaps, runner: Runner, *, fill: bool, partial: bool) -> Settled:
    """Decide what fills gaps and which files are left out; raise a `RequestError` if there is no such submission.

    With `fill` the majority answers where it can, and with `partial` files are left out.
    """
    tasks = _answered_tasks(board, missing, runner)
    filled = dict[Pair, Answers]()
    if fill:
        filled, missing = fill_in(board, missing, runner)
    if missing and not partial:
        raise gaps_refused(board, missing, runner.workspace, filled=fill)
    if runner.workspace.settings.official_counts:
        _check_counts(board, {*filled, *missing}, runner)
    left_out = {file.name: missing[file.pair] for file in board.files if file.pair in missing}
    return Settled(without(board, missing), tasks, filled, left_out)


def find_gaps(board: Leaderboard, chosen: Collection[str], runner: Runner, *, unchosen: str) -> dict[Pair, str]:
    """Map what no fit can answer to the reason: `unchosen` for tasks that are not `chosen`, else missing data."""
    gaps = {}
    for name in task_names(board):
        task = runner.plugins.tasks.find(name)
        reason = unchosen if name not in chosen else _lack(task, [task.train, *task.named("dev")], runner)
        for pair in board.wanted:
            if pair[0] == name:
                reason_of_pair = reason or _lack(task, [pair[1]], runner)
                if reason_of_pair:
                    gaps[pair] = reason_of_pair
    return gaps


def task_names(board: Leaderboard) -> list[str]:
    """Name the tasks whose answers a leaderboard wants, in the order of its files."""
    return list(dict.fromkeys(task for task, _ in board.wanted))


def _answered_tasks(board: Leaderboard, missing: Gaps, runner: Runner) -> tuple[Task, ...]:
    """Return the tasks of which a file is answered by a fit; raise a `RequestError` if there are none."""
    names = dict.fromkeys(name for name, split in board.wanted if (name, split) not in missing)
    if not names:
        raise gaps_refused(board, missing, runner.workspace, answered=False)
    return tuple(map(runner.plugins.tasks.find, names))


def _lack(task: Task, splits: Iterable[str], runner: Runner) -> str:
    """Say which of some splits has no data first; empty if all have."""
    for split in splits:
        try:
            runner.planner.rows(task, split)
        except DataNotFound:
            return f"{NO_DATA} {split}"
    return ""


def without(board: Leaderboard, gaps: Gaps) -> Leaderboard:
    """Return the leaderboard with the files that have no gap, under the name of a part of a submission."""
    if not gaps:
        return board
    end = "/" if board.is_folder else ".zip"
    archive = f"{board.archive.removesuffix(end)}-partial{end}"
    return replace(board, archive=archive, files=tuple(file for file in board.files if file.pair not in gaps))


def _check_counts(board: Leaderboard, unanswered: Collection[Pair], runner: Runner) -> None:
    """Raise a `RequestError` that lists the test files without as many rows as the board wants; ask before fitting."""
    wrong = []
    for file in board.files:
        if file.pair not in unanswered:
            rows = runner.planner.rows(runner.plugins.tasks.find(file.task), file.split)
            if len(rows) != file.rows:
                wrong.append(
                    f"  - {file.name}: {rows.origin} has {len(rows):,} rows; {board.title} wants {file.rows:,}"
                )
    if wrong:
        listed = "\n".join(wrong)
        raise RequestError(
            f"{board.title} would refuse answers to these files:\n{listed}\nNothing was fitted. Put the board's own "
            "test files there."
        )


def gaps_refused(
    board: Leaderboard, gaps: Gaps, workspace: Workspace, *, filled: bool = False, answered: bool = True
) -> RequestError:
    """Return the error for a submission with gaps, with what to do about each kind of them.

    `filled` says whether gaps were filled where possible, and `answered` whether fits answer any file.
    """
    what = f"A submission to {board.name} needs every task, and these are missing"
    reasons = "".join(f"\n{reason}" for reason in gaps.values())
    advice = [remedy for start, remedy in _REMEDIES.items() if f"\n{start}" in reasons]
    if not answered:
        what = f"No file of a submission to {board.name} would hold answers of a model"
    elif filled:
        advice.append("Or add --partial, which leaves these files out.")
    else:
        advice.append("Or write what there is: --partial leaves the other files out, --fill majority fills them in.")
    listed = "".join(f"\n  - {line}" for line in _described(board, gaps))
    failure = "it is not asked with --offline" if workspace.settings.offline else workspace.hub.known_failure
    if failure and f"\n{NO_DATA}" in reasons:
        listed += f"\nThe hub gave no data: {failure}."
    return RequestError(f"{what}:{listed}\nNothing was fitted or written. {' '.join(advice)}")


def _described(board: Leaderboard, gaps: Gaps) -> Iterator[str]:
    """Describe the gaps, a task in a line; a task that is answered in part has a line for each file without answers."""
    for name in task_names(board):
        own = {pair: gaps[pair] for pair in board.wanted if pair[0] == name and pair in gaps}
        if len(own) == sum(pair[0] == name for pair in board.wanted):
            yield f"{name}: {next(iter(own.values()))}"
        else:
            for file in board.files_of(name):
                if file.pair in own:
                    yield f"{file.name}: {own[file.pair]} of {name}"


def fill_in(board: Leaderboard, gaps: Gaps, runner: Runner) -> tuple[dict[Pair, Answers], dict[Pair, str]]:
    """Fill gaps by the majority; return the answers, and the gaps that cannot be filled with the reason."""
    filled = {}
    unfilled = {}
    for pair, why in gaps.items():
        files = [file for file in board.files if file.pair == pair]
        try:
            filled[pair] = _majority(files, runner.plugins.tasks.find(pair[0]), why, runner)
        except _Unfillable as reason:
            unfilled[pair] = f"{why}; it cannot be filled: {reason}"
    return filled, unfilled


class _Unfillable(RequestError):
    """Reason why no answer can be filled in."""


def _majority(files: list[BoardFile], task: Task, why: str, runner: Runner) -> Answers:
    """Answer every row by the majority of the training rows; without training rows, by the problem's fallback."""
    import numpy as np
    import pyarrow as pa

    problem = task.problem
    train, rows = _rows(task, task.train, runner), _rows(task, files[0].split, runner)
    columns = dict.fromkeys(column for file in files for column in file.kind.row_columns)
    if rows is None and columns:
        raise _Unfillable(f"{files[0].name} has {', '.join(columns)} of each row, which only the data tell")
    output = problem.fallback_output() if train is None else problem.majority_output(train.table)
    if output is None:
        raise _Unfillable("there are no training rows to count, and no answer that stands for 'unknown'")
    table = pa.table({}) if rows is None else rows.table
    count = files[0].rows if rows is None else problem.output_count(table)
    outputs = np.repeat(np.asarray(output)[None], count, axis=0)
    try:
        values = problem.decode(outputs, table, problem.decoding)
        figures = problem.extra_figures(outputs, table, problem.decoding)
    except KeyError:  # the problem decodes with a column of the rows
        raise _Unfillable("an answer is a part of its row, and there are no rows") from None
    reason = "the training majority"
    if train is None:
        reason = f"no training rows to count, so '{problem.spell(values[0])}' everywhere"
    origin = f"{why}; {reason}"
    return Answers(values, None if rows is None else table, figures, method=predicting.MAJORITY, filled=origin)


def _rows(task: Task, split: str, runner: Runner) -> Rows | None:
    try:
        return runner.planner.rows(task, split)
    except RequestError:  # the reason of the gap says so already
        return None
