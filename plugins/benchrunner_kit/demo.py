"""The demo's folder: generated data of tasks, backbones that need no network, and submissions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner import RequestError, Task, Workspace, quoted
from benchrunner.results import Plugins, Runner, StudyOptions, output_places
from benchrunner_submit import Submission, write_submission

MARK = "demo.txt"
"""File that tells the folder of a demo from others; written first."""


@final
@dataclass(frozen=True)
class Demo:
    """A demo in one folder: it writes the data and the submissions; studies of the data run in between."""

    folder: Path
    plugins: Plugins
    backbones: tuple[str, ...]
    """The backbone, and its twin if it has one: the same model without pre-training."""

    @classmethod
    def of(cls, folder: Path, plugins: Plugins, backbone: str | None = None) -> Demo:
        """Choose the folder and the backbone, by default the first that is meant for the demo."""
        output_places.check_place(folder, is_file=False)
        if folder.is_symlink():
            folder = Path(os.path.realpath(folder))  # what the link leads to need not exist
        _check_is_own(folder)
        name = backbone or _demo_backbone(plugins)
        twin = Runner(plugins, Workspace.of_demo(folder)).planner.backbone(name).twin
        return cls(folder, plugins, (name, twin) if twin else (name,))

    @property
    def workspace(self) -> Workspace:
        """The demo's folders: everything is below one folder, and no network is used."""
        return Workspace.of_demo(self.folder)

    def write_data(self, tasks: Iterable[Task]) -> None:
        """Write a small data set of each task in the task's real file layout."""
        writers = []
        for task in tasks:
            if task.demo_files is None:
                raise RequestError(f"{task.name} cannot write demo data: choose other tasks.")
            writers.append(task.demo_files)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / MARK).write_text("This folder holds the files of 'benchrunner demo'. It may be removed.\n")
        for write in writers:
            write(self.folder / "data")

    def write_submissions(self, tasks: Iterable[Task], options: StudyOptions, runner: Runner) -> Iterator[Submission]:
        """Write a submission of the backbone to every leaderboard whose tasks are all among these."""
        names = {task.name for task in tasks}
        for board in self.plugins.leaderboards.values():
            needed = {file.task for file in board.files}
            if needed and needed <= names:
                yield write_submission(board, self.folder, runner, backbone=self.backbones[0], options=options)


def _check_is_own(folder: Path) -> None:
    """Raise a `RequestError` if the folder holds files and is not that of a demo, whose files would mix with them."""
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if names and MARK not in names:
        raise RequestError(
            f"{folder} holds other files, such as {quoted(names[0])}: a demo needs a folder that is empty, missing or "
            "that of an earlier demo. Name another folder with --out."
        )


def _demo_backbone(plugins: Plugins) -> str:
    for name, backbone in plugins.backbones.items():
        if backbone.for_demo:
            return name
    raise RequestError(
        "No installed backbone is meant for the demo: install a plugin that has one, or give --backbone."
    )
