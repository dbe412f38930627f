"""The verifier's own tasks and rows, compared with the descriptions and fingerprints in a shared folder."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, final

from benchrunner import DataNotFound, Recipe, RequestError, Rows, Settings, Task, Workspace, quoted
from benchrunner.engine import first_line
from benchrunner.results import Fit, Plugins, Runner, predict, predicting
from benchrunner_share.documents.contents import are_sealed, data_json, task_json
from benchrunner_share.verifying.comparing import value_differences
from benchrunner_share.verifying.findings import Findings

MOST_SPLITS = 1_000
"""Largest number of splits whose rows stay in memory: those of all tasks of a study are needed again and again."""


@final
class OwnMajority:
    """The majority answers to the verifier's rows, each planned and computed once."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._fits: dict[tuple[str, Recipe], Fit] = {}
        self._predicted: dict[tuple[str, str, str], predicting.Predicted] = {}

    def fit(self, task: Task, recipe: Recipe) -> Fit:
        """Plan the majority answer to the training rows of a recipe."""
        key = (task.name, recipe)
        if key not in self._fits:
            self._fits[key] = self.runner.planner.plan(task, "", method=predicting.MAJORITY, recipe=recipe)
        return self._fits[key]

    def predicted(self, fit: Fit, split: str) -> predicting.Predicted:
        """Return the majority answer to the rows of a split."""
        key = (fit.id, fit.task, split)  # tasks may share a fit
        if key not in self._predicted:
            self._predicted[key] = predict(fit, split, self.runner)
        return self._predicted[key]


@final
class OwnRunners:
    """Runners with the verifier's data, for any number of folders: each majority answer is computed once."""

    def __init__(self, plugins: Plugins, workspace: Workspace, tasks: Collection[str] | None = None) -> None:
        """Take a workspace whose runs folder is a temporary one, and the tasks beside the installed ones that may be
        looked up, because they are in files; None allows all.
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

    def of(self, content: Mapping[str, Any]) -> OwnMajority:
        """Return the majority answers of the runner that reads rows as the study with this content did."""
        settings = self._workspace.settings
        leaves_out = settings.leave_out_bad_rows or content["left_out_bad_rows"] is True
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

    def __init__(self, content: Mapping[str, Any], runners: OwnRunners, findings: Findings) -> None:
        plugins = runners.plugins
        self.majority = runners.of(content)
        self.runner = self.majority.runner
        """Plans and computes majority answers in a temporary runs folder."""
        self._content = content
        self._findings = findings
        self._rows: dict[tuple[str, str], Rows | None] = {}
        self.tasks: dict[str, Task] = {}
        """Installed tasks by name."""
        self.absent = set[str]()
        """Names of installed tasks whose rows are not all here."""
        self.differing = False
        """Whether a difference of rows was found, and said."""
        for name in content["tasks"]:
            try:
                # A name may be that of a file of the verifier's.
                task = plugins.tasks.find(name) if runners.may_find(name) else None
                reason = f"There is no task {quoted(name)}."
            except RequestError as error:
                task, reason = None, first_line(error)
            if task is not None and task.name == name:
                self.tasks[name] = task
            else:
                supplier = quoted(content["suppliers"].get(name))
                remedy = "" if runners.may_find(name) else " Name your own task file in --tasks of board."
                findings.leave_unverified(
                    f"{reason} Its scores are not verified: they need the plugin {supplier}.{remedy}"
                )

    def check(self) -> None:
        """Note every task and split that differs here from the shared folder."""
        for name, task in self.tasks.items():
            claimed = self._content["tasks"][name]
            data = self._content["data"][name]
            counts = {split: data[split]["rows"] for split in claimed["splits"] if split in task.splits}
            self._findings.differ_all(value_differences(claimed, task_json(task, counts), (f"task {name}",)))
            for split in dict.fromkeys((*counts, task.train)):
                rows = self.rows(name, split)
                if rows is None:
                    self.absent.add(name)
                elif split in counts:
                    self._check_rows(f"{name} ({split})", data[split], data_json(rows, task), rows.origin)

    def _check_rows(self, place: str, claimed: Mapping[str, Any], own: Mapping[str, Any], origin: str) -> None:
        if claimed["rows"] != own["rows"]:
            self.differing = True
            self._findings.differ(
                f"{place}: {quoted(claimed['rows'])} rows were answered, and {origin} has {own['rows']:,}."
            )
        names = sorted({*claimed["columns"], *own["columns"]})
        differing = [name for name in names if claimed["columns"].get(name) != own["columns"].get(name)]
        if differing or claimed["fingerprint"] != own["fingerprint"]:
            self.differing = True
            columns = f"; columns that differ: {', '.join(map(quoted, differing))}" if differing else ""
            self._findings.differ(f"{place}: the answers are to another revision of the data than {origin}{columns}.")

    def rows(self, task: str, split: str) -> Rows | None:
        """Load the rows of a split on this machine once.

        Of a split that was sealed for the sender, they have no labels. If that fails, note that and return None.
        """
        key = (task, split)
        if key not in self._rows:
            self._rows[key] = self._load(task, split) if task in self.tasks else None
        return self._rows[key]

    def labelled(self, task: Task, split: str) -> Rows | None:
        """Return the rows of a split with their labels if these are here, and were not where the answers were given."""
        if not self._is_sealed(task, split) or self.rows(task.name, split) is None:
            return None
        rows = self.runner.planner.rows(task, split)
        return None if are_sealed(rows, task) else rows

    def _is_sealed(self, task: Task, split: str) -> bool:
        """Whether the folder has answers to a test split that were given without its labels."""
        claimed = self._content["data"][task.name].get(split, {})
        return claimed.get("sealed") is True and split in task.named("test")

    def _load(self, task: str, split: str) -> Rows | None:
        known = self.tasks[task]
        try:
            rows = self.runner.planner.rows(known, split)
            if not self._is_sealed(known, split):
                return rows
            labels = [name for name in known.problem.label_columns if name in rows.table.column_names]
            return dataclasses.replace(rows, table=rows.table.drop_columns(labels))
        except RequestError as error:
            what = "there is no copy of the data here" if isinstance(error, DataNotFound) else "no rows can be read"
            reason = " ".join(str(error).split())
            self._findings.leave_unverified(f"{quoted(task)} ({quoted(split)}) is not computed here: {what}: {reason}")
            return None
