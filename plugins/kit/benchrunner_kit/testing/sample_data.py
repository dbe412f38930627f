"""The data with which tasks are checked: that of a workspace, or the demo files that the task writes itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import PluginError, Workspace
from benchrunner_kit.testing.contract import Findings

if TYPE_CHECKING:
    from benchrunner import Task


def with_data(tasks: Iterable[Task], folder: Path, workspace: Workspace | None, findings: Findings) -> Workspace:
    """Return the workspace that is given, or one below `folder` with the demo files of the tasks."""
    if workspace is not None:
        return workspace
    for task in tasks:
        if task.demo_files is None:
            raise PluginError(f"{task.name}: without demo_files, give a workspace with its data.")
        for place in ("data", "again"):
            task.demo_files(0, folder / place)
    if _contents(folder / "data") != _contents(folder / "again"):
        findings.add("demo_files writes different files for the same seed: draw random numbers from the seed only")
    return Workspace.of_demo(folder)


def _contents(folder: Path) -> Mapping[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
