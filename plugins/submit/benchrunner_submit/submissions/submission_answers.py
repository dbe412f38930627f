"""Answers of fits to the splits that a leaderboard wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from benchrunner import Answers, DataNotFound, Leaderboard, Pair, RequestError, Rows, Task
from benchrunner.results import CellResult, Fit, Runner, answer, cells, find_run, predict, predicting

AnswerSource = Callable[[Task, str], Answers]
"""Gives the answers to a task's split: from the fits of a study, or from an ensemble."""


def missing(
    board: Leaderboard,
    tasks: Iterable[Task],
    chosen: Sequence[str],
    runner: Runner,
    *,
    unchosen: str,
) -> dict[str, str]:
    """Map the board's tasks that no fit can answer to the reason: `unchosen`, or that a split has no data."""
    reasons = {}
    for task in tasks:
        if task.name not in chosen:
            reasons[task.name] = unchosen
            continue
        tests = [split for name, split in board.wanted if name == task.name]
        for split in [task.train, *task.named("dev"), *tests]:
            try:
                runner.planner.rows(task, split)
            except DataNotFound:
                reasons[task.name] = f"no data for its split {split}"
                break
    return reasons


def check_counts(board: Leaderboard, tasks: Iterable[Task], runner: Runner) -> None:
    """Raise a `RequestError` if test files do not have as many rows as the board wants; call it before fitting."""
    wrong = []
    for task in tasks:
        for file in board.files_of(task.name):
            rows = runner.planner.rows(task, file.split)
            if len(rows) != file.rows:
                wrong.append(
                    f"  - {file.name}: {rows.origin} has {len(rows):,} rows; {board.title} wants {file.rows:,}"
                )
    if wrong:
        listed = "\n".join(wrong)
        raise RequestError(f"{board.title} would refuse answers to these files:\n{listed}\nNothing was fitted.")


def answers(board: Leaderboard, source: AnswerSource, absent: Mapping[str, str], runner: Runner) -> dict[Pair, Answers]:
    """Collect the answers to every split that the board wants.

    Tasks in `absent` are answered by the majority; the value is the reason, which the manifest keeps.
    """
    collected = {}
    for name, split in board.wanted:
        task = runner.plugins.tasks.find(name)
        if name in absent:
            collected[name, split] = _filled(board, task, split, absent[name], runner)
        else:
            collected[name, split] = source(task, split)
    return collected


def selected(board: Leaderboard, fitted: Sequence[CellResult], runner: Runner) -> AnswerSource:
    """Return an answer source that answers with the fits of a study, and with the extra figures that files need."""

    def given(task: Task, split: str) -> Answers:
        fit = cells.selected_fit(next(cell for cell in fitted if cell.cell.task.name == task.name))
        answers = predict(fit, split, runner).answers
        rows = runner.planner.rows(task, split)
        needs_more = any(file.extra_figure for file in board.files_of(task.name))
        more = predicting.extra_figures(fit, rows, runner) if needs_more else {}
        return _with_origin(Answers(answers, rows.table, more, fit.id, fit.method), [fit])

    return given


def ensembles_of(board: Leaderboard, references: Sequence[str], runner: Runner) -> dict[str, list[str]]:
    """Group finished runs by their tasks, which must be tasks of the board."""
    runs: dict[str, list[str]] = {}
    for reference in references:
        fit = find_run(runner.workspace.runs, reference).fit()
        if not board.files_of(fit.task):
            raise RequestError(f"{board.name} takes no answers to {fit.task}, the task of the run {fit.id}.")
        runs.setdefault(fit.task, []).append(reference)
    return runs


def together(ensembles: Mapping[str, Sequence[str]], runner: Runner) -> AnswerSource:
    """Return an answer source that answers with finished runs; the runs of one task are an ensemble."""

    def given(task: Task, split: str) -> Answers:
        references = ensembles[task.name]
        answered = answer(references, runner, split=split)
        method = "ensemble" if len(references) > 1 else "finished run"
        fits = [find_run(runner.workspace.runs, reference).fit() for reference in references]
        values = Answers(answered.answers, answered.rows.table, answered.extra_figures, answered.by, method)
        return _with_origin(values, fits)

    return given


def _with_origin(values: Answers, fits: Sequence[Fit]) -> Answers:
    """Add the backbones of the fits that answered, and the fewest training rows that any of them was limited to."""
    backbones: dict[str, None] = {}
    limits = []
    for fit in fits:
        if fit.backbone:
            backbones[fit.backbone] = None
        if fit.recipe.limit_train is not None:
            limits.append(fit.recipe.limit_train)
    return replace(values, backbone=", ".join(backbones), limit_train=min(limits, default=None))


def _filled(board: Leaderboard, task: Task, split: str, why: str, runner: Runner) -> Answers:
    """Answer every row by the majority of the training rows; without training rows, by the problem's fallback."""
    import numpy as np
    import pyarrow as pa

    problem = task.problem
    train, rows = _rows(task, task.train, runner), _rows(task, split, runner)
    output = problem.fallback_output()
    if output is None and (train is None or rows is None):
        raise RequestError(
            f"{task.name} cannot be filled: {why}, and only its rows tell what an answer looks like. Give its data."
        )
    if train is not None:
        output = problem.majority_output(train.table)
    if rows is not None:
        table, count = rows.table, problem.output_count(rows.table)
    else:
        table, count = pa.table({}), next(file.rows for file in board.files if file.pair == (task.name, split))
    outputs = np.repeat(np.asarray(output)[None], count, axis=0)
    values = problem.decode(outputs, table, problem.decoding)
    reason = "the training majority"
    if train is None:
        reason = f"no training rows to count, so '{problem.spell(values[0])}' everywhere"
    return Answers(
        values,
        None if rows is None else table,
        problem.extra_figures(outputs, table, problem.decoding),
        method=predicting.MAJORITY,
        filled=f"{why}; {reason}",
    )


def _rows(task: Task, split: str, runner: Runner) -> Rows | None:
    try:
        return runner.planner.rows(task, split)
    except RequestError:  # the reason why the task is absent says so already
        return None
