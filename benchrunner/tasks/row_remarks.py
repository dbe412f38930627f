"""Remarks of plugins on the rows of splits, such as that they stand in train."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any, final

from benchrunner.data.rows import Rows
from benchrunner.data.sources import DataNotFound
from benchrunner.tasks.task import Task


@final
class RowRemarks:
    """Remarks of plugins on splits, which they compare with the training rows. They are asked once for each split."""

    def __init__(self, hook: Callable[..., Any], load: Callable[[Task, str], Rows]) -> None:
        self._hook = hook
        self._load = load
        self._known = dict[tuple[str, str], tuple[str, ...]]()

    def noted(self, task: Task, split: str, rows: Rows) -> Rows:
        """Return rows with the remarks on them in their notes; nothing is added where the training rows are missing."""
        key = (task.name, split)
        if key not in self._known:
            said: Any = ()
            with contextlib.suppress(DataNotFound):
                said = self._hook(task=task, split=split, rows=rows, train=self._load(task, task.train))
            self._known[key] = tuple(chain.from_iterable(said))
        return replace(rows, notes=rows.notes + self._known[key])
