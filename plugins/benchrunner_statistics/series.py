"""The lines of a figure: the places and figures of each series of systems."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from benchrunner.results import Result, study as parts


def lines(result: Result) -> Iterator[dict[str, Any]]:
    """Yield each line of a figure, as lists that a plot can draw: a line for each column and each series of systems.

    On the axis of training rows, a point stands at the number of rows that its fits learned from.
    """
    by_rows = result.study.axis == parts.TRAINING_ROWS
    for column in result.study.columns:
        if not column.is_measured:
            continue
        for name, systems in result.study.lines.items():
            lists = defaultdict[str, list[Any]](list)
            for at, system in systems.items():
                entry = result.entries[system, column.name]
                if by_rows and entry.cell is not None and entry.cell.cell.candidates:
                    at = entry.cell.cell.candidates[0].rows
                for key, value in {"at": at, **entry.shown()}.items():
                    lists[key].append(value)
            yield {"column": column.name, "series": name, **lists}
