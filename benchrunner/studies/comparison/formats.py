"""The table of a study for terminals, as CSV, and as the texts that plugins write: all are views of one layout."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.errors import RequestError
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.comparison.facts import facts
from benchrunner.studies.comparison.layout import EVERYTHING, NOTHING_PUBLISHED, WIDTH, layout
from benchrunner.studies.comparison.table import Layout, Line, Shown
from benchrunner.studies.result import Result

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table


@final
@dataclass(frozen=True)
class TerminalTable:
    """A table for terminals of any width: columns that do not fit stand in groups below each other."""

    shown: Layout

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        """Yield the groups of columns."""
        from rich.text import Text

        width = min(WIDTH, options.max_width)
        for number, group in enumerate(self.shown.groups(width)):
            if number:
                yield Text()
            yield _rich_table(group, width)


def as_table(
    result: Result, published: PublishedChoice = NOTHING_PUBLISHED, shown: Shown = EVERYTHING, *, long: bool = False
) -> TerminalTable:
    """Return the table of a result for a terminal, or with `long` a row for each score. Long names are folded."""
    return TerminalTable(long_layout(result) if long else layout(result, published, shown))


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


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as CSV with all digits; the values of a list are separated by blanks."""
    rows = list(rows)
    names = dict[str, None]()
    for row in rows:
        names |= dict.fromkeys(row)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_plain, names))
    for row in rows:
        writer.writerow(_plain(row.get(name)) for name in names)
    return text.getvalue().rstrip("\n")


def _plain(value: Any) -> str:
    """Write a value of CSV; a quote stands before a text that a spreadsheet would read as a formula."""
    if isinstance(value, list):
        return " ".join(map(str, value))
    text = "" if value is None else str(value)
    is_formula = isinstance(value, str) and len(text) > 1 and text.startswith(("=", "+", "-", "@"))
    return f"'{text}" if is_formula else text


LONG = ("system", "task", "split", "metric", "score", "sd", "low", "high", "restarts", "mark")
"""Columns of the long form as people read it; the other formats have everything."""


def long_layout(result: Result) -> Layout:
    """Lay out a row for each score. Scores are fractions, whatever the scale of other tables."""
    lines = []
    for row in result.scores():
        cells = ["" if row[name] is None else _long_text(row[name]) for name in LONG]
        cells[1] = cells[1] or row["column"]
        lines.append(Line(tuple(cells)))
    numeric = tuple(name in LONG[4:9] for name in LONG)
    return Layout(LONG, numeric, tuple(lines), "every score, as a fraction; low and high: the interval of 95 %")


def _long_text(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def as_text(
    form: str,
    result: Result,
    published: PublishedChoice = NOTHING_PUBLISHED,
    shown: Shown = EVERYTHING,
    *,
    long: bool = False,
) -> str:
    """Write the table of a result in the format "csv", or in one that a plugin writes, such as "markdown".

    `long` has a row for each score. CSV has fractions, in the table with a row for each system.
    """
    if form == "csv":
        return as_csv(result.scores() if long else result.table(every_metric=shown.every_metric))
    table = long_layout(result) if long else layout(result, published, shown)
    text = None
    if result.plugins is not None:
        notes = [fact.line for fact in facts(result, published, shown)]
        text = result.plugins.hook.write_table(form=form, table=table, notes=notes, result=result)
    if not isinstance(text, str):
        raise no_writer(form)
    return text


def no_writer(form: str) -> RequestError:
    """Return the error for a format that no plugin writes."""
    return RequestError(f"No plugin writes tables as {form}: the plugin 'report' does.")


def as_page(result: Result) -> str | None:
    """Write the table that a notebook shows; None without a plugin that writes it."""
    try:
        return as_text("html", result)
    except RequestError:
        return None
