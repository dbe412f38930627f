"""Status of the data of tasks: where each split was found, and whether it can be used."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import final

from benchrunner.data.sources import DataNotFound
from benchrunner.errors import BenchrunnerError
from benchrunner.io.json_form import key_of
from benchrunner.tasks.task import Split, Task
from benchrunner.workspace import Workspace


@final
@dataclass(frozen=True)
class SplitStatus:
    """The status of one split's data."""

    task: str
    split: str
    official_rows: int | None
    """The official number of rows, if there is one."""
    rows: int | None = None
    """Number of rows; None if the data is missing or cannot be used."""
    origin: str = ""
    """File or hub data set of the rows."""
    fingerprint: str = field(default="", metadata=key_of("sha256"))
    """SHA-256 of the rows."""
    notes: tuple[str, ...] = ()
    """Remarks for the user, one sentence each."""
    is_missing: bool = field(default=False, metadata=key_of("missing"))
    """Whether no source has the data."""
    problem: str = ""
    """Why there are no rows: where the data was looked for, or why it cannot be used."""


def data_status(tasks: Iterable[Task], workspace: Workspace) -> list[SplitStatus]:
    """Load every split of the tasks and return its status. An offline workspace looks into folders and caches only."""
    return [_status(task, name, split, workspace) for task in tasks for name, split in task.splits.items()]


def _status(task: Task, name: str, split: Split, workspace: Workspace) -> SplitStatus:
    try:
        rows = task.load(name, workspace)
    except BenchrunnerError as error:
        missing = isinstance(error, DataNotFound)
        return SplitStatus(task.name, name, split.rows, is_missing=missing, problem=str(error))
    return SplitStatus(task.name, name, split.rows, len(rows), rows.origin, rows.fingerprint, rows.notes)
