"""How many rows each system answers right, and how many it answers better than each other system."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchrunner_report.drawings.matrix import ABSENT, Entry, Matrix
from benchrunner_report.drawings.svg import TINY


def agreement(levels: Mapping[str, Any], *, is_graded: bool) -> Matrix | None:
    """Count the rows in which the system of a line is better than that of a column; None for a single system.

    `levels` are the grades of a system's answers to each row: 1 or 0 for right and wrong, or with `is_graded` others.
    Columns have the numbers of the systems. Without grades, the first column counts the rows that are right.
    """
    numbered = {name: str(number) for number, name in enumerate(levels, start=1)}
    lines = []
    for name, level in levels.items():
        entries = [] if is_graded else [_count(level > 0)]
        for other, of_other in levels.items():
            entry = ABSENT if other == name else _count(level > of_other + TINY)
            entries.append(entry)
        lines.append((f"{numbered[name]} {name}", tuple(entries)))
    if len(lines) < 2:
        return None
    columns = list(numbered.values())
    if not is_graded:
        columns.insert(0, "right")
    return Matrix("", "better than", tuple(columns), tuple(lines))


def _count(mask: Any) -> Entry:
    """Count the rows of a mask; an entry is the darker the more rows it has."""
    rows = int(mask.sum())
    return Entry(rows, f"{rows:,}", rows / len(mask))
