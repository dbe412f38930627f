"""Halves of a dev split: fits are selected by the rows of one, and the scores that are shown are of the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchrunner.data.rows import Half, Rows
from benchrunner.errors import RequestError
from benchrunner.fits.fit import HELD_OUT, SELECTING
from benchrunner.tasks.row_sample import groups_of_rows

if TYPE_CHECKING:
    from benchrunner.tasks.task import Task


def halves(rows: Rows, task: Task, split: str) -> tuple[Rows, Rows]:
    """Cut the rows of a dev split in two: those that select, and those that are held out of the selection.

    The halves depend on the rows and the task alone. Rows of a cluster (`Task.clusters`), or of a group that a metric
    scores together, are in one half. Single rows are divided at random, each label evenly.
    """
    advice = "leave --select-on-half out, or use a larger --limit-dev if there is one"
    held_out, selecting = divided(rows, task, 2, f"halves of {split}", advice)
    note = f"selected on {len(selecting):,} rows of {split}, and scored on the other {len(held_out):,}"
    notes = (*rows.notes, f"{note} (--select-on-half)")
    parts = []
    for name, numbers in ((SELECTING, selecting), (HELD_OUT, held_out)):
        part = replace(rows.taken(numbers), notes=notes, limit=len(numbers), half=Half(name, rows, numbers))
        parts.append(part)
    return parts[0], parts[1]


def divided(rows: Rows, task: Task, count: int, parts: str, advice: str, *, seed: int = 0) -> list[list[int]]:
    """Divide rows in `count` parts of nearly equal size, and return the numbers of the rows of each part.

    Rows of a cluster, or of a group that a metric scores together, are one unit, which is in one part. Each unit goes
    to the first part with the fewest rows: large units first, and units of one label in succession. Units of equal size
    and label come in random order, so that they go to the parts in turn. `parts` says what the parts are, and `advice`
    what to do if there are too few units.
    """
    from benchrunner.features.randomness import permutation

    kept_together = {metric.columns for metric in task.metrics if metric.of_groups}
    if task.clusters in rows.table.column_names:
        kept_together.add((task.clusters,))
    units = _units(rows, kept_together)
    if len(units) < count:
        raise RequestError(
            f"{task.name}: {rows.origin} has {len(units):,} row(s), or groups of rows that belong together, too few "
            f"for {count:,} {parts}: {advice}."
        )
    labels = task.problem.strata(rows.table)
    ranks = permutation(len(units), seed, parts.partition(" ")[0]).tolist()

    def place(unit: int) -> tuple[int, str, int]:
        label = "" if labels is None else repr(labels[units[unit][0]])
        return -len(units[unit]), label, ranks[unit]

    numbers: list[list[int]] = [[] for _ in range(count)]
    for unit in sorted(range(len(units)), key=place):
        min(numbers, key=len).extend(units[unit])
    return [sorted(part) for part in numbers]


def _units(rows: Rows, kept_together: Iterable[Sequence[str]]) -> list[list[int]]:
    """Return the numbers of the rows that must stay together: those that are equal in some of these columns."""
    parents = list(range(len(rows)))

    def root(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]  # halves the way for the next search
            row = parents[row]
        return row

    for columns in kept_together:
        first_rows = dict[str, int]()
        for row, group in enumerate(groups_of_rows(rows, columns)):
            parents[root(row)] = root(first_rows.setdefault(group, row))
    units = dict[int, list[int]]()
    for row in range(len(rows)):
        units.setdefault(root(row), []).append(row)
    return list(units.values())
