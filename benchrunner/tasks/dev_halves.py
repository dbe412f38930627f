"""Halves of a dev split: fits are selected by the rows of one, and the scores that are shown are of the other."""

from __future__ import annotations

from collections.abc import Sequence
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
    kept_together = {metric.columns for metric in task.metrics if metric.of_groups}
    if task.clusters in rows.table.column_names:
        kept_together.add((task.clusters,))
    units = _units(rows, sorted(kept_together))
    if len(units) < 2:
        names = ", ".join(dict.fromkeys(name for columns in sorted(kept_together) for name in columns))
        why = f"they all belong together by {names}" if len(rows) > 1 else "this is too few"
        advice = "leave --select-on-half out" + (", or use a larger --limit-dev" if rows.limit is not None else "")
        raise RequestError(
            f"{task.name}: the split {split} has {len(rows):,} row(s) to score ({rows.origin}), and {why}, so that it "
            f"cannot be cut in two halves: {advice}."
        )
    selecting, held_out = _divided(units, task.problem.strata(rows.table))
    note = f"selected on {len(selecting):,} rows of {split}, and scored on the other {len(held_out):,}"
    notes = (*rows.notes, f"{note} (--select-on-half)")
    parts = []
    for name, numbers in ((SELECTING, selecting), (HELD_OUT, held_out)):
        part = replace(rows.taken(numbers), notes=notes, limit=len(numbers), half=Half(name, rows, numbers))
        parts.append(part)
    return parts[0], parts[1]


def _units(rows: Rows, kept_together: Sequence[Sequence[str]]) -> list[list[int]]:
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


def _divided(units: Sequence[list[int]], labels: Sequence[object] | None) -> tuple[list[int], list[int]]:
    """Give each unit to the half with fewer rows: large units first, and units of one label in succession.

    Units of equal size and label come in random order, so that they go to the one half and to the other in turn.
    """
    from benchrunner.features.randomness import permutation

    ranks = permutation(len(units), 0, "halves").tolist()

    def place(unit: int) -> tuple[int, str, int]:
        label = "" if labels is None else repr(labels[units[unit][0]])
        return -len(units[unit]), label, ranks[unit]

    selecting = list[int]()
    held_out = list[int]()
    for unit in sorted(range(len(units)), key=place):
        half = selecting if len(selecting) < len(held_out) else held_out
        half += units[unit]
    return sorted(selecting), sorted(held_out)
