"""Checks of the data of tasks: where each split was found, whether it can be used, and what makes scores doubtful."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

from benchrunner import BenchrunnerError, DataNotFound, Task, Workspace
from benchrunner.results import comparison
from benchrunner_tasks.data.training_texts import TrainingTexts

__all__ = ["SplitStatus", "TrainingTexts", "data_status"]


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
    sha256: str = ""
    """SHA-256 of the rows, their fingerprint."""
    notes: tuple[str, ...] = ()
    """Remarks for the user, one sentence each."""
    warnings: tuple[str, ...] = ()
    """What makes scores on these rows doubtful, one sentence each."""
    missing: bool = False
    """Whether no source has the data."""
    problem: str = ""
    """Why there are no rows: where the data was looked for, or why it cannot be used."""

    @property
    def faults(self) -> list[str]:
        """Why there are no rows, or the warnings with their codes."""
        return [self.problem] if self.problem else list(map(comparison.coded, self.warnings))


def data_status(tasks: Iterable[Task], workspace: Workspace) -> list[SplitStatus]:
    """Load every split of the tasks and return its status. An offline workspace looks into folders and caches only."""
    return [status for task in tasks for status in _of_task(task, workspace)]


def _of_task(task: Task, workspace: Workspace) -> Iterator[SplitStatus]:
    """Yield the status of each split of a task, train first; scores are judged where the training rows are here."""
    texts = None
    for name in dict.fromkeys((task.train, *task.splits)):
        official = task.splits[name].rows
        try:
            rows = task.load(name, workspace)
        except BenchrunnerError as error:
            missing = isinstance(error, DataNotFound)
            yield SplitStatus(task.name, name, official, missing=missing, problem=str(error))
            continue
        if name == task.train:
            texts = TrainingTexts(task, rows)
        warnings = tuple(texts.remarks(name, rows)) if texts else ()
        yield SplitStatus(task.name, name, official, len(rows), rows.origin, rows.fingerprint, rows.notes, warnings)
