"""Tables of figures in lines and columns, each the darker the higher: confusion, grids and slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from benchrunner_report.drawings.scale import is_constant


@final
@dataclass(frozen=True)
class Entry:
    """A figure of a matrix."""

    value: float
    text: str
    share: float = 0.0
    """How dark the figure stands, from 0 to 1."""
    is_strong: bool = False


ABSENT = Entry(0.0, "–")


@final
@dataclass(frozen=True)
class Matrix:
    """Figures in lines and columns."""

    title: str
    """What the figures are about; empty if the text beside the matrix says so."""
    corner: str
    """Name of what the lines are."""
    columns: tuple[str, ...]
    lines: tuple[tuple[str, tuple[Entry, ...]], ...]
    """Name and figures of each line."""


def decimals(values: Sequence[float]) -> int:
    """Return the digits after the point that tell figures apart: two for figures that are near each other."""
    return 1 if values and max(values) - min(values) >= 2 else 2


def shaded(corner: str, columns: Mapping[str, Mapping[str, float]], strong: Sequence[tuple[str, str]] = ()) -> Matrix:
    """Return figures by column and line, each the darker the higher it is; `strong` are columns and lines in bold."""
    values = list[float]()
    names = dict[str, None]()
    for of_column in columns.values():
        values += of_column.values()
        names |= dict.fromkeys(of_column)
    low = min(values, default=0.0)
    span = 1.0 if is_constant(values) else max(values) - low
    lines = []
    for name in names:
        entries = []
        for column, of_column in columns.items():
            value = of_column.get(name)
            if value is None:
                entries.append(ABSENT)
            else:
                entries.append(
                    Entry(value, f"{value:.{decimals(values)}f}", (value - low) / span, (column, name) in strong)
                )
        lines.append((name, tuple(entries)))
    return Matrix("", corner, tuple(columns), tuple(lines))
