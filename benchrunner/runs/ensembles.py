"""Ensembles of finished fits, or single fits, answer rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, final

from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.io.identity import identity
from benchrunner.metrics import Score
from benchrunner.runs.folder import RunFolder, find_run
from benchrunner.runs.predicting import raw_outputs, tuned_settings
from benchrunner.runs.runner import Runner
from benchrunner.tasks.task import Task

RULE = "mean"
"""How outputs are combined: the mean, as each problem's `average` defines it."""


@final
@dataclass(frozen=True)
class Answered:
    """Answers of one finished fit, or of several together, to some rows."""

    task: Task
    rows: Rows
    answers: list[Any]
    """One answer for each row, in their order."""
    extra_figures: Mapping[str, list[Any]]
    """Name -> a figure for each row: see `Problem.extra_figures`."""
    scores: Mapping[str, Score]
    """Metric -> score; empty if the rows are not labelled."""
    by: str
    """Id of the fit or of the ensemble."""


def answer(references: Sequence[str], runner: Runner, *, split: str | None = None) -> Answered:
    """Answer a split of the task's data with finished fits of one task; without a split, the first dev split.

    `references` are ids of fits, beginnings of ids, or folders of fits; several fits answer together.
    """
    return next(
        answer_blocks(
            references,
            runner,
            lambda task, runner: [runner.planner.rows(task, split or next(iter(task.named("dev")), task.train))],
        )
    )


def answer_blocks(
    references: Sequence[str], runner: Runner, read: Callable[[Task, Runner], Iterable[Rows]]
) -> Iterator[Answered]:
    """Yield the answers to each block of rows that `read` gives; `references` are as in `answer`."""
    folders = [find_run(runner.workspace.runs, reference) for reference in references]
    homes = {folder.path.parent for folder in folders}
    if len(homes) > 1:
        listed = ", ".join(sorted(map(str, homes)))
        raise RequestError(f"The members of an ensemble must be in one runs folder; these are in {listed}.")
    for home in homes:
        runner = runner.in_workspace(replace(runner.workspace, runs=home))
    fits = [runner.finished_fit(folder) for folder in folders]
    if not fits:
        raise RequestError("An ensemble needs at least one finished run.")
    if len({fit.task for fit in fits}) > 1:
        listed = ", ".join(f"{fit.id} ({fit.task})" for fit in sorted(fits, key=lambda fit: fit.id))
        raise RequestError(f"The members of an ensemble answer one task, not several: {listed}.")
    task = runner.plugins.tasks.find(fits[0].task)
    for rows in read(task, runner):
        yield answer_together(fits, task, rows, runner)


def answer_together(fits: Sequence[Fit], task: Task, rows: Rows, runner: Runner) -> Answered:
    """Average the raw outputs of finished fits of a task for these rows, and decode and score the average.

    The order of the fits has no effect, and a fit that is given twice counts twice. Nothing is learned, and weights are
    needed only for rows that a fit has not answered before. The settings of decoding are tuned on dev, as for one fit.
    """
    import numpy as np

    members = sorted(fits, key=lambda fit: fit.id)
    by = members[0].id
    if len(members) > 1:
        by = identity({"rule": RULE, "members": [fit.id for fit in members]})

    def outputs_for(rows: Rows) -> Any:
        outputs = [raw_outputs(fit, rows, runner) for fit in members]
        return outputs[0] if len(outputs) == 1 else task.problem.average(outputs)

    outputs = outputs_for(rows)
    settings = tuned_settings(task, RunFolder(runner.workspace.runs, by), outputs_for, runner)
    answers = task.problem.decode(np.array(outputs), rows.table, deepcopy(settings))
    extra_figures = task.problem.extra_figures(np.array(outputs), rows.table, deepcopy(settings))
    scores = task.scores(rows.table, answers, extra_figures)
    return Answered(task, rows, answers, extra_figures, scores, by)
