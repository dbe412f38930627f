"""Ensembles of finished fits, or single fits, answer rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, final

from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.io.identity import identity
from benchrunner.metrics import Score
from benchrunner.runs.folder import RunFolder, find_run
from benchrunner.runs.predicting import decoding_settings, raw_outputs, tuned_settings
from benchrunner.runs.runner import Runner
from benchrunner.tasks.task import Task
from benchrunner.workspace import Workspace

RULE = "mean"
"""How outputs are combined: the mean, as each problem's `average` defines it."""


@dataclass(frozen=True)
class Ensemble:
    """Fits of one task that answer together. Nothing is learned."""

    members: tuple[Fit, ...]
    """Sorted by id; the same fit may occur several times."""

    def __post_init__(self) -> None:
        if not self.members:
            raise RequestError("An ensemble needs at least one finished run.")
        object.__setattr__(self, "members", tuple(sorted(self.members, key=lambda fit: fit.id)))
        if len({fit.task for fit in self.members}) > 1:
            listed = ", ".join(f"{fit.id} ({fit.task})" for fit in self.members)
            raise RequestError(f"The members of an ensemble answer one task, not several: {listed}.")

    @property
    def id(self) -> str:
        """Hash of the members and the rule; also the name of the folder with the tuned settings."""
        return identity({"rule": RULE, "members": [fit.id for fit in self.members]})

    @property
    def task(self) -> str:
        return self.members[0].task

    def outputs(self, rows: Rows, runner: Runner) -> Any:
        """Return the averaged raw outputs of the members for rows of their task."""
        members = [raw_outputs(fit, rows, runner) for fit in self.members]
        if len(members) == 1:
            return members[0]
        return runner.plugins.tasks.find(self.task).problem.average(members)

    def settings(self, runner: Runner) -> Mapping[str, Any]:
        """Return the settings that turn the averaged outputs into answers, tuned on dev as for a single fit."""
        if len(self.members) == 1:
            return decoding_settings(self.members[0], runner)
        folder = RunFolder(runner.workspace.runs, self.id)
        return tuned_settings(
            runner.plugins.tasks.find(self.task), folder, lambda rows: self.outputs(rows, runner), runner
        )


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


def answer(
    references: Sequence[str],
    runner: Runner,
    *,
    split: str | None = None,
    read: Callable[[Task, Workspace], Rows] | None = None,
) -> Answered:
    """Answer a split of the task's data, or rows that `read` gives, with finished fits of one task.

    `references` are ids of fits, beginnings of ids, or folders of fits; several fits answer together. Without a split,
    the first dev split is answered.
    """
    folders = [find_run(runner.workspace.runs, reference) for reference in references]
    homes = {folder.path.parent for folder in folders}
    if len(homes) > 1:
        listed = ", ".join(sorted(map(str, homes)))
        raise RequestError(f"The members of an ensemble must be in one runs folder; these are in {listed}.")
    for home in homes:
        runner = runner.in_workspace(replace(runner.workspace, runs=home))
    ensemble = Ensemble(tuple(runner.finished_fit(folder) for folder in folders))
    task = runner.plugins.tasks.find(ensemble.task)
    if read is not None:
        rows = read(task, runner.workspace)
    else:
        rows = runner.planner.rows(task, split or next(iter(task.named("dev")), task.train))
    return answer_together(ensemble, task, rows, runner)


def answer_together(ensemble: Ensemble, task: Task, rows: Rows, runner: Runner) -> Answered:
    """Answer rows with finished fits; weights are needed only for rows that the fits have not answered before."""
    import numpy as np

    outputs = ensemble.outputs(rows, runner)
    settings = ensemble.settings(runner)
    answers = task.problem.decode(np.array(outputs), rows.table, deepcopy(settings))
    extra_figures = task.problem.extra_figures(np.array(outputs), rows.table, deepcopy(settings))
    scores = task.scores(rows.table, answers, extra_figures)
    by = ensemble.members[0].id if len(ensemble.members) == 1 else ensemble.id
    return Answered(task, rows, answers, extra_figures, scores, by)
