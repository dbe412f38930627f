"""The table of a result for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.comparison.caption import NOTHING_PUBLISHED
from benchrunner.studies.comparison.layout import WIDTH, Layout, layout
from benchrunner.studies.result import Result

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


def as_table(result: Result, published: PublishedChoice = NOTHING_PUBLISHED, *, best: bool = False) -> Table:
    """Return the table of a result; a table with tasks down fits into 100 columns. Long names are folded, never cut.

    `best` adds the score of the selected restart. Published figures stand in dim rows below the row that measures the
    same.
    """
    return rich_table(layout(result, published, best=best))


def rich_table(shown: Layout) -> Table:
    """Return a table for terminals."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=shown.title or None, title_justify="left")
    widths: list[int] = []
    for number, header in enumerate(shown.headers):
        cells = [len(line.cells[number]) for line in shown.lines]
        widths.append(max(len(header.split("\n")[-1]), *cells))
    borders = 3 * len(widths) + 1
    named = sum("\n" in header for header in shown.headers)
    spare = max(0, WIDTH - borders - sum(widths)) // max(1, named)
    for header, numeric, content in zip(shown.headers, shown.numeric, widths, strict=True):
        fixed = (numeric and not shown.may_fold) or header == "metric"  # names of tasks and systems are folded
        *names, last = header.split("\n")
        width = content + spare
        folded = [name[start : start + width] for name in names for start in range(0, len(name), width)]
        text = escape("\n".join([*folded, last]))
        table.add_column(text, justify="right" if numeric else "left", overflow="fold", no_wrap=fixed)
    for line in shown.lines:
        if line.begins_group:
            table.add_section()
        table.add_row(*map(_cell, line.cells), style="dim" if line.kind == "published" else None)
    return table


def _cell(text: str) -> RenderableType:
    """Escape a text; keep the indentation of a name in every line of a folded name."""
    from rich.markup import escape
    from rich.padding import Padding

    indented = text.startswith("  ") and text.strip()[:1].isalpha()
    return Padding(escape(text.strip()), (0, 0, 0, 2), expand=False) if indented else escape(text)
