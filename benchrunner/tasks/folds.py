"""Folds of a task's training rows, for cross-validation: a fit for each fold learns from the rows of the others."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError
from benchrunner.tasks.task import Folds, Task

FOLDS = "folds"
"""Name of the dev split of a task in folds: all rows, or the rows of the fold that a fit has not seen."""


def divided_rows(rows: Rows, folds: Folds, division: int) -> list[list[int]]:
    """Return the numbers of the rows of each fold."""
    return folds.whole.divided(rows, folds.number, FOLDS, seed=division)


def rows_in_folds(rows: Rows, folds: Folds, split: str) -> Rows:
    """Return the rows of a split among the training rows of the whole task."""
    parts = divided_rows(rows, folds, folds.division)
    if not folds.held_out:
        return rows
    held_out = parts.pop(folds.held_out - 1)
    return rows.taken(held_out if split == FOLDS else sorted(itertools.chain(*parts)))


def in_folds(task: Task, text: str) -> Task:
    """Return the task that `TASK@5` means: cross-validated in 5 folds, without the other splits of the task.

    `TASK@5.0.2` is a part of it: the fit that is kept from the second fold of the division with the seed 0.
    """
    is_known = re.fullmatch(r"\d{1,6}(\.\d{1,19}\.[1-9]\d{0,5})?", text) and not task.folds
    number, division, held_out = map(int, f"{text}.0.0".split(".")[:3]) if is_known else (0, 0, 0)
    if number < max(2, held_out):
        raise RequestError(f"{task.name}@{text}: give one number of folds from 2 up, such as --folds 5 or TASK@5.")
    train = replace(task.splits[task.train], rows=None)
    return replace(
        task,
        name=f"{task.name}@{text}",
        splits={task.train: train, FOLDS: replace(train, role="dev")},
        suite=None,
        select_on=(),
        folds=Folds(task, number, division, held_out),
    )
