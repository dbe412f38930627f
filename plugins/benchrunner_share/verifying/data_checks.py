"""The verifier's own tasks and rows, compared with the fingerprints in a shared folder."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import final

from benchrunner import DataNotFound, Recipe, RequestError, Rows, Settings, Task, Workspace, quoted
from benchrunner.engine import first_line
from benchrunner.results import Plugins, Runner, predict, predicting
from benchrunner_share.documents.contents import STUDY, are_sealed
from benchrunner_share.documents.plan import Plan, RowFacts
from benchrunner_share.verifying.findings import Findings
from benchrunner_share.verifying.received_folder import UnreadableFile

MOST_SPLITS = 1_000
"""Largest number of splits whose rows stay in memory: those of all tasks of a study are needed again and again."""


@final
class OwnMajority:
    """The majority answers to the verifier's rows, each computed once."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._predicted: dict[tuple[str, Recipe, str], predicting.Predicted] = {}

    def predicted(self, task: Task, recipe: Recipe, split: str) -> predicting.Predicted:
        """Return the majority answer of the training rows of a recipe to the rows of a split."""
        key = (task.name, recipe, split)
        if key not in self._predicted:
            fit = self.runner.planner.plan(task, "", method=predicting.MAJORITY, recipe=recipe)
            self._predicted[key] = predict(fit, split, self.runner)
        return self._predicted[key]


@final
class OwnRunners:
    """Runners with the verifier's data, for any number of folders: each majority answer is computed once."""

    def __init__(self, plugins: Plugins, workspace: Workspace, tasks: Collection[str] | None = None) -> None:
        """Keep a workspace whose runs folder is temporary.

        `tasks` names tasks of task files that `may_find` allows besides the installed ones; None allows every task.
        """
        self.plugins = plugins
        self._workspace = workspace
        self._tasks = tasks
        self._known: dict[Settings, OwnMajority] = {}

    def may_find(self, task: str) -> bool:
        """Whether a task may be looked up, with folds or without: a folder could name a file of its sender."""
        name, _, folds = task.partition("@")
        is_installed = name in list(self.plugins.tasks) and re.fullmatch(r"[\dx.]*", folds) is not None
        return task.isprintable() and (self._tasks is None or task in self._tasks or is_installed)

    def of(self, plan: Plan) -> OwnMajority:
        """Return the majority answers of the runner that reads rows as the study with this plan did."""
        settings = self._workspace.settings
        leaves_out = settings.leave_out_bad_rows or plan.left_out_bad_rows
        settings = dataclasses.replace(settings, leave_out_bad_rows=leaves_out)
        if settings not in self._known:
            runner = Runner(self.plugins, dataclasses.replace(self._workspace, settings=settings))
            runner.planner.most_splits = MOST_SPLITS
            self._known[settings] = OwnMajority(runner)
        return self._known[settings]


@contextlib.contextmanager
def own_runners(plugins: Plugins, workspace: Workspace, tasks: Collection[str] | None = None) -> Iterator[OwnRunners]:
    """Give runners with the data of a workspace; the `with` block ends with what they computed.

    `tasks` names the tasks in files that shared folders may name, see `OwnRunners`.
    """
    with tempfile.TemporaryDirectory(prefix="benchrunner-verify-") as runs:
        yield OwnRunners(plugins, dataclasses.replace(workspace, runs=Path(runs)), tasks)


@final
class OwnData:
    """The tasks that a shared study names, as far as they are installed, and the verifier's rows of their splits."""

    def __init__(self, plan: Plan, runners: OwnRunners, findings: Findings) -> None:
        self.majority = runners.of(plan)
        self.runner = self.majority.runner
        """Plans and computes majority answers in a temporary runs folder."""
        self._plan = plan
        self._findings = findings
        self._rows: dict[tuple[str, str], Rows] = {}
        self.tasks: dict[str, Task] = {}
        """The installed tasks whose rows are all here, and are those that were answered, by name."""
        for name in plan.data:
            task = self._found(name, runners)
            if task is not None and self._has_equal_rows(task):
                self.tasks[name] = task

    def _found(self, name: str, runners: OwnRunners) -> Task | None:
        """Find an installed task; note that its scores are not verified if there is none."""
        try:
            # A name may be that of a file of the verifier's.
            task = runners.plugins.tasks.find(name) if runners.may_find(name) else None
            reason = f"There is no task {quoted(name)}."
        except RequestError as error:
            task, reason = None, first_line(error)
        if task is not None and task.name == name:
            return task
        supplier = quoted(self._plan.suppliers.get(name))
        remedy = "" if runners.may_find(name) else " Name your own task file in --tasks of board."
        self._findings.leave_unverified(
            f"{reason} Its scores are not verified: they need the plugin {supplier}.{remedy}"
        )
        return None

    def _has_equal_rows(self, task: Task) -> bool:
        """Load the rows of all splits of a task, and note every split that is not here or has other rows here."""
        claimed = self._plan.data[task.name]
        is_equal = True
        for split in dict.fromkeys((*claimed, task.train)):
            place = f"{task.name} ({split})"
            if split not in task.splits:
                self._findings.differ(f"{quoted(place)}: the task has no such split.")
                is_equal = False
                continue
            try:
                rows = self._load(task, split)
            except RequestError as error:
                what = "there is no copy of the data here" if isinstance(error, DataNotFound) else "no rows can be read"
                reason = " ".join(str(error).split())
                self._findings.leave_unverified(
                    f"{quoted(task.name)} ({quoted(split)}) is not computed here: {what}: {reason}"
                )
                is_equal = False
                continue
            self._rows[task.name, split] = rows
            if split in claimed and (differences := list(_row_differences(place, claimed[split], rows, task))):
                self._findings.differ_all(differences)
                is_equal = False
        return is_equal

    def rows(self, task: str, split: str) -> Rows:
        """Return the rows of a split on this machine, without labels if it was sealed for the sender."""
        if (task, split) not in self._rows:
            raise UnreadableFile(f"{STUDY} does not say which rows of {task} ({split}) were answered.")
        return self._rows[task, split]

    def labelled(self, task: Task, split: str) -> Rows | None:
        """Return the rows of a split with their labels if these are here, and were not where the answers were given."""
        if not self._is_sealed(task, split):
            return None
        rows = self.runner.planner.rows(task, split)
        return None if are_sealed(rows, task) else rows

    def _is_sealed(self, task: Task, split: str) -> bool:
        """Return whether the folder claims that its answers to this split were given without knowing the labels."""
        claimed = self._plan.data[task.name].get(split)
        return claimed is not None and claimed.sealed and split in task.named("test")

    def _load(self, task: Task, split: str) -> Rows:
        """Load the rows of a split, without labels if it was sealed for the sender."""
        rows = self.runner.planner.rows(task, split)
        if not self._is_sealed(task, split):
            return rows
        labels = [name for name in task.problem.label_columns if name in rows.table.column_names]
        return dataclasses.replace(rows, table=rows.table.drop_columns(labels))


def _row_differences(place: str, claimed: RowFacts, rows: Rows, task: Task) -> Iterator[str]:
    """Yield a sentence if the rows here are not those that were answered."""
    own = RowFacts.of(rows, task)
    if claimed.rows != own.rows:
        yield f"{place}: {claimed.rows:,} rows were answered, and {rows.origin} has {own.rows:,}."
    names = sorted({*claimed.columns, *own.columns})
    differing = [name for name in names if claimed.columns.get(name) != own.columns.get(name)]
    if differing or claimed.fingerprint != own.fingerprint:
        columns = f"; columns that differ: {', '.join(map(quoted, differing))}" if differing else ""
        yield f"{place}: the answers are to another revision of the data than {rows.origin}{columns}."
    elif claimed.sealed != own.sealed:
        yield f"{place}: only the answers to a test split are sealed, and only without labels."
