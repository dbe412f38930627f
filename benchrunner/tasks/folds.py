"""Folds of a task's training rows, for cross-validation: a fit for each fold learns from the rows of the others."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError
from benchrunner.tasks.dev_halves import divided

if TYPE_CHECKING:
    from benchrunner.tasks.task import Task

FOLDS = "folds"
"""Name of the dev split of a task in folds: all rows, or the rows of the fold that a fit has not seen."""


@final
@dataclass(frozen=True)
class Folds:
    """How a task is cross-validated, or which of its folds a fit is kept from."""

    whole: Task
    """The task whose training rows are divided."""
    number: int
    """Number of folds."""
    division: int = 0
    """Seed of the division."""
    held_out: int = 0
    """Number of the fold whose rows are not learned from, from 1; 0 if the fits of all folds answer together."""

    def divided(self, rows: Rows, division: int) -> list[list[int]]:
        """Return the numbers of the rows of each fold."""
        return divided(rows, self.whole, self.number, FOLDS, "use fewer", seed=division)

    def part(self, rows: Rows, split: str) -> Rows:
        """Return the rows of a split among the training rows of the whole task."""
        folds = self.divided(rows, self.division)
        if not self.held_out:
            note = (
                f"cross-validated: each of the {len(rows):,} rows is answered by one of {self.number} fits, which has "
                "not seen it, and all answers are scored together; no fit has learned from all rows, and none is kept"
            )
            return replace(rows, notes=(*rows.notes, note))
        held_out = folds.pop(self.held_out - 1)
        return rows.taken(held_out if split == FOLDS else sorted(itertools.chain(*folds)))


def in_folds(task: Task, text: str) -> Task:
    """Return the task that `TASK@5` means: cross-validated in 5 folds, without the other splits of the task.

    `TASK@5.0.2` is a part of it: the fit that is kept from the second fold of the division with the seed 0.
    """
    is_known = re.fullmatch(r"\d{1,6}(\.\d{1,19}\.[1-9]\d{0,5})?", text) and not task.folds
    number, division, held_out = map(int, f"{text}.0.0".split(".")[:3]) if is_known else (0, 0, 0)
    if number < max(2, held_out):
        raise RequestError(f"{task.name}@{text}: give one number of folds from 2 up, such as --folds 5 or glue/rte@5.")
    train = replace(task.splits[task.train], rows=None)
    return replace(
        task,
        name=f"{task.name}@{text}",
        splits={task.train: train, FOLDS: replace(train, role="dev")},
        suite=None,
        select_on=(),
        folds=Folds(task, number, division, held_out),
    )
