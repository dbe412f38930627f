"""The demo: every task on generated data with a small backbone, from files to submissions, without a network."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from benchrunner import RequestError, Task, Workspace, quoted
from benchrunner.results import (
    Plugins,
    Result,
    Runner,
    Study,
    StudyOptions,
    compared,
    output_places,
)
from benchrunner_submit import Submission, write_submission

MARK = "demo.txt"
"""File that tells the folder of a demo from others; written first."""
SUITES = ("conll", "glue", "squad", "swag")
"""What a demo shows if no tasks are chosen; with all suites it would take ten minutes."""
RECIPE = {"epochs": 4, "batch_size": 16, "lr": 1e-3, "precision": "fp32"}
"""Recipe for a small backbone and a few hundred sentences, not for real fine-tuning."""


@final
@dataclass(frozen=True)
class Demo:
    """A demo in one folder: write its data, run its study with `run_study`, write its submissions."""

    folder: Path
    plugins: Plugins
    study: Study
    seed: int = 0
    """Seed of the generated data and of the fits."""
    trusted_code: tuple[str, ...] = ()
    """Code that the backbone may run: see `Settings.trusted_code`."""

    @classmethod
    def plan(
        cls,
        folder: Path,
        plugins: Plugins,
        *,
        tasks: Collection[Task] | None = None,
        backbone: str | None = None,
        seed: int = 0,
        trusted_code: tuple[str, ...] = (),
    ) -> Demo:
        """Plan the demo of some tasks, or of every task that can write demo data.

        The backbone is by default the first that is meant for the demo; its twin, the same model without pre-training,
        is compared with it.
        """
        output_places.check_place(folder, is_file=False)
        if folder.is_symlink():
            folder = Path(os.path.realpath(folder))  # what the link leads to need not exist
        _check_is_own(folder)
        chosen = _with_demo_files(plugins) if tasks is None else _checked(tasks)
        runner = Runner(plugins, _workspace(folder, trusted_code))
        study = StudyOptions().study((backbone or _demo_backbone(plugins),), chosen, runner)
        twin = runner.planner.backbone(study.backbones[0]).twin
        backbones = (*study.backbones, twin) if twin else study.backbones
        return cls(folder, plugins, compared(backbones, chosen, seeds=(seed,), changes=RECIPE), seed, trusted_code)

    @property
    def workspace(self) -> Workspace:
        """The demo's folders: everything is below one folder, and no network is used."""
        return _workspace(self.folder, self.trusted_code)

    def write_data(self) -> None:
        """Write a small data set of every task in the task's real file layout."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / MARK).write_text("This folder holds the files of 'benchrunner demo'. It may be removed.\n")
        for task in self.study.tasks:
            if task.demo_files is not None:
                task.demo_files(self.seed, self.folder / "data")

    def write_submissions(self, result: Result, runner: Runner) -> list[Submission]:
        """Write a submission of the first backbone to every leaderboard whose tasks all belong to the demo."""
        runs = {}
        for cell in result.cells:
            if cell.cell.backbone == self.study.backbones[0] and cell.selected is not None:
                runs[cell.cell.task.name] = cell.selected.id
        submissions = []
        for board in self.plugins.leaderboards.values():
            tasks = {file.task for file in board.files}
            if tasks and tasks <= runs.keys():
                ensemble = [runs[name] for name in sorted(tasks)]
                submissions.append(write_submission(board, self.folder, runner, ensemble=ensemble))
        return submissions


def _workspace(folder: Path, trusted_code: tuple[str, ...]) -> Workspace:
    workspace = Workspace.of_demo(folder)
    return replace(workspace, settings=replace(workspace.settings, trusted_code=trusted_code))


def _check_is_own(folder: Path) -> None:
    """Raise a `RequestError` if the folder holds files and is not that of a demo, whose files would mix with them."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if names and MARK not in names:
        raise RequestError(
            f"{folder} holds other files, such as {quoted(names[0])}: a demo needs a folder that is empty, missing or "
            "that of an earlier demo. Name another folder with --out."
        )


def _with_demo_files(plugins: Plugins) -> tuple[Task, ...]:
    """Return the tasks of the suites that a demo shows, or all tasks if none of these suites is there."""
    tasks = tuple(task for task in plugins.tasks.values() if task.demo_files is not None)
    if not tasks:
        raise RequestError("No installed task can write demo data: install a plugin that has such a task.")
    return tuple(task for task in tasks if task.name.partition("/")[0] in SUITES) or tasks


def _checked(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return the tasks; raise a `RequestError` if one of them cannot write demo data."""
    tasks = tuple(tasks)
    if without := [task.name for task in tasks if task.demo_files is None]:
        raise RequestError(f"{', '.join(without)} cannot write demo data: choose other tasks.")
    return tasks


def _demo_backbone(plugins: Plugins) -> str:
    for name, backbone in plugins.backbones.items():
        if backbone.for_demo:
            return name
    raise RequestError(
        "No installed backbone is meant for the demo: install a plugin that has one, or give --backbone."
    )
