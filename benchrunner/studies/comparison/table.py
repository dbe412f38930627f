"""The result of a study as a table for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.comparison.caption import NO_STATISTICS, NOTHING_PUBLISHED
from benchrunner.studies.comparison.layout import layout
from benchrunner.studies.study import Result
from benchrunner.studies.study_statistics import StudyStatistics

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_WIDTH = 100
"""Columns of a terminal that a table fits into."""


def as_table(
    result: Result,
    published: PublishedChoice = NOTHING_PUBLISHED,
    statistics: StudyStatistics = NO_STATISTICS,
    *,
    best: bool = False,
) -> Table:
    """Return the table of a result; it fits into 100 columns, and long names are folded, never cut.

    `best` adds the score of the selected restart. Published figures stand in dim rows below the row that measures the
    same.
    """
    from rich.markup import escape
    from rich.table import Table

    shown = layout(result, statistics, published, best=best)
    table = Table(title="dev", title_justify="left")
    widths = [
        max(len(header.split("\n")[-1]), *(len(line.cells[number]) for line in shown.lines))
        for number, header in enumerate(shown.headers)
    ]
    borders = 3 * len(widths) + 1
    named = sum("\n" in header for header in shown.headers)
    spare = max(0, _WIDTH - borders - sum(widths)) // max(1, named)
    for header, numeric, content in zip(shown.headers, shown.numeric, widths, strict=True):
        fixed = numeric or header == "metric"  # names of tasks and backbones are folded
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
