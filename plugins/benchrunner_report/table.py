"""The table of a study on a page: the layout that terminals show, with a row for what its lines say of one name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from benchrunner.results import comparison


@final
@dataclass(frozen=True)
class Cell:
    """A cell: its first text, which is the figure, and the texts that stand below it."""

    figure: str
    rest: str
    """What follows the figure on its line: its deviation and its marks."""
    below: tuple[str, ...]
    is_best: bool


@final
@dataclass(frozen=True)
class Row:
    """A row of the table."""

    name: str
    cells: tuple[Cell, ...]
    is_published: bool


@final
@dataclass(frozen=True)
class StudyTable:
    """The table of a study."""

    title: str
    """What the figures are."""
    headers: tuple[tuple[str, ...], ...]
    """Lines of the header of each column."""
    numeric: tuple[bool, ...]
    groups: tuple[tuple[Row, ...], ...]
    """Rows that stay together when the table is sorted: a figure of ours, and the published figures below it."""
    last: tuple[Row, ...]
    """Rows that stay at the end: averages over tasks, or what nothing was fitted for."""

    @classmethod
    def of(cls, layout: comparison.Layout, first: int = 1) -> StudyTable:
        """Turn the lines of a layout into rows; lines without a name stand below the figures of the line above them.

        The columns from number `first` on stand before the others, after the names of the rows.
        """
        groups = list[list[Row]]()
        last = list[Row]()
        order = (0, *range(first, len(layout.headers)), *range(1, first))
        lines = list(layout.lines)
        while lines:
            line = lines.pop(0)
            below = []
            while lines and lines[0].kind == "score" and not lines[0].cells[0]:
                below.append(lines.pop(0).cells)
            cells = []
            is_published = line.kind == "published"
            for number in order[1:]:
                text = line.cells[number]
                if is_published:
                    cells.append(Cell(text, "", (), is_best=False))
                else:
                    cells.append(_cell(text, [texts[number] for texts in below], is_best=number in line.best))
            row = Row(line.cells[0].strip(), tuple(cells), is_published)
            ends = line.begins_group and (is_published or not layout.numeric[1])  # rows of tasks, then averages
            if last or ends:
                last.append(row)
            elif is_published:
                groups[-1].append(row)
            else:
                groups.append([row])
        headers = tuple(tuple(layout.headers[number].split("\n")) for number in order)
        numeric = tuple(layout.numeric[number] for number in order)
        return cls(layout.title, headers, numeric, tuple(map(tuple, groups)), tuple(last))


def _cell(text: str, below: Sequence[str], *, is_best: bool) -> Cell:
    """Part a text into figure, rest and interval; the interval may stand in the text or below it."""
    head, bracket, tail = text.partition("[")
    if head and bracket:
        interval, _, marks = tail.partition("]")
        text = f"{head} {marks}"
        below = (f"[{interval}]", *below)
    figure, _, rest = " ".join(text.split()).partition(" ")
    return Cell(figure, rest, tuple(filter(None, below)), is_best)
