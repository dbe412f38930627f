"""A table as texts: its lines, the widths of its columns, and how it is printed in a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, final

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

WIDTH = 100
"""Most characters of a line."""
NAME_WIDTH = 12
"""Characters of a name in a header that make its column wider than the figures need."""


@final
@dataclass(frozen=True)
class Shown:
    """What is shown of a result in a table and below it."""

    every_metric: bool = False
    """Whether a table with a row for each system has all metrics of each task, not only the headline."""
    intervals: bool = True
    run_ids: bool = False
    """Whether the ids of the fits are listed."""


@final
@dataclass(frozen=True)
class Line:
    """One line of a table."""

    cells: tuple[str, ...]
    kind: Literal["score", "published"] = "score"
    begins_group: bool = False
    """Whether a rule stands above the line."""
    best: tuple[int, ...] = ()
    """Numbers of the cells whose figure is best or tied for best of its column."""


@final
@dataclass(frozen=True)
class Layout:
    """A table as texts, which rich prints: columns that do not fit stand in groups below each other."""

    headers: tuple[str, ...]
    """Headers of the columns; lines are separated by a line break."""
    numeric: tuple[bool, ...]
    """Whether a column is aligned to the right."""
    lines: tuple[Line, ...]
    title: str = "dev"
    legend: tuple[str, ...] = ()
    """What the marks mean, for formats that print no other notes."""
    is_narrow: bool = False
    """Whether no rules stand between the columns, and no blanks around ±."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the groups of columns."""
        from rich.text import Text

        width = min(WIDTH, options.max_width)
        for number, group in enumerate(self.groups(width)):
            if number:
                yield Text()
            yield _rich_table(group, width)

    @property
    def widths(self) -> list[int]:
        """The characters of each column; names in headers are folded, and only the last line is whole."""
        widths = []
        for number, header in enumerate(self.headers):
            *names, last = header.split("\n")
            name_width = min(NAME_WIDTH, max(map(len, names), default=0))
            texts = [last, *(line.cells[number] for line in self.lines)]
            widths.append(max(name_width, *map(len, texts)))
        return widths

    @property
    def borders(self) -> int:
        """The characters that a line has beside its cells."""
        return 2 * len(self.headers) - 2 if self.is_narrow else 3 * len(self.headers) + 1

    def name_width(self, whole: int) -> int:
        """The characters of the names of rows in groups of columns, in a terminal of `whole` characters."""
        return min(self.widths[0], whole // 3)

    def groups(self, whole: int) -> Iterator[Layout]:
        """Yield groups of columns that fit into `whole` characters, each with the names of the rows.

        A table that does not fit is made narrow first.
        """
        widths = self.widths
        if self.name_width(whole) + sum(widths[1:]) + self.borders <= whole:
            yield self
            return
        if not self.is_narrow:
            yield from self._narrow().groups(whole)
            return
        start = 1
        title = self.title
        while start < len(widths):
            stop = start + 1
            room = whole - self.name_width(whole) - 2 - widths[start]
            while stop < len(widths) and widths[stop] + 2 <= room:
                room -= widths[stop] + 2
                stop += 1
            yield self._of_columns(slice(start, stop), title)
            start = stop
            title = ""

    def _narrow(self) -> Layout:
        """Return the table without rules between its columns and blanks around ±."""
        lines = []
        for line in self.lines:
            cells = tuple(cell.replace(" ± ", "±") for cell in line.cells)
            lines.append(replace(line, cells=cells))
        return replace(self, lines=tuple(lines), is_narrow=True)

    def _of_columns(self, chosen: slice, title: str) -> Layout:
        """Return the table of some columns, without lines that are empty then."""
        lines = []
        begins_group = False
        for line in self.lines:
            cells = line.cells[chosen]
            begins_group = begins_group or line.begins_group
            if any(cells) or (line.begins_group and line.kind == "score"):
                lines.append(replace(line, cells=(line.cells[0], *cells), begins_group=begins_group))
                begins_group = False
        headers = (self.headers[0], *self.headers[chosen])
        numeric = (self.numeric[0], *self.numeric[chosen])
        return replace(self, headers=headers, numeric=numeric, lines=tuple(lines), title=title)


def _rich_table(shown: Layout, whole: int) -> Table:
    """Return a table for a terminal of `whole` characters."""
    from rich import box
    from rich.table import Table

    table = Table(title=shown.title or None, title_justify="left")
    if shown.is_narrow:
        table.box, table.show_edge, table.padding, table.pad_edge = box.HORIZONTALS, False, (0, 1, 0, 0), False
    named = sum("\n" in header for header in shown.headers)
    spare = max(0, whole - shown.borders - sum(shown.widths)) // max(1, named)
    for number, (header, numeric, width) in enumerate(zip(shown.headers, shown.numeric, shown.widths, strict=True)):
        table.add_column(
            _folded(header, width + spare),
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=numeric or header == "metric",  # names of tasks and systems are folded
            max_width=None if number else shown.name_width(whole),
        )
    for line in shown.lines:
        if line.begins_group:
            table.add_section()
        table.add_row(*map(_cell, line.cells), style="dim" if line.kind == "published" else None)
    return table


def _folded(header: str, width: int) -> str:
    """Fold the names in a header; its last line says what the figures are, and stays whole."""
    from rich.markup import escape

    *names, last = header.split("\n")
    lines = []
    for name in names:
        lines += textwrap.wrap(name, width, break_on_hyphens=False)
    return escape("\n".join([*lines, last]))


def _cell(text: str) -> RenderableType:
    """Escape a text; keep the indentation of a name in every line of a folded name."""
    from rich.markup import escape
    from rich.padding import Padding

    indented = text.startswith("  ") and text.strip()[:1].isalpha()
    return Padding(escape(text.strip()), (0, 0, 0, 2), expand=False) if indented else escape(text)
