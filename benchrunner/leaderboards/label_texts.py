"""The texts by which leaderboards and data files spell a task's labels."""

from __future__ import annotations

from collections.abc import Iterable

from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner.tasks.task import Task


def labels_by_text(task: Task, boards: Iterable[Leaderboard]) -> dict[str, str]:
    """Collect the texts that boards and the task's own data files use for its labels: text -> label.

    A text that stands for different labels in different places is left out, because a guess could give a wrong score.
    """
    spellings = [file.kind.labels_by_text for board in boards for file in board.files_of(task.name)]
    spellings += [getattr(source, "labels", {}) for split in task.splits.values() for source in split.sources]
    labels: dict[str, set[str]] = {}
    for spelling in spellings:
        for text, label in spelling.items():
            labels.setdefault(text, set()).add(label)
    return {text: meanings.pop() for text, meanings in labels.items() if len(meanings) == 1}
