"""The table of a study for terminals, and as Markdown, CSV, LaTeX and HTML: all are views of one layout."""

from __future__ import annotations

import csv
import html
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.cells import Figure
from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED, WIDTH, layout
from benchrunner.studies.comparison.remarks import remarks
from benchrunner.studies.comparison.table import Layout
from benchrunner.studies.result import Result
from benchrunner.studies.significance.study_statistics import StudyStatistics
from benchrunner.studies.study import Place

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table


@final
@dataclass(frozen=True)
class TerminalTable:
    """A table for terminals of any width: columns that do not fit stand in groups below each other."""

    shown: Layout

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """Yield the groups of columns."""
        width = min(WIDTH, options.max_width)
        for group in self.shown.groups(width) if self.shown.may_break else [self.shown]:
            yield _rich_table(group, width)


def as_table(
    result: Result,
    published: PublishedChoice = NOTHING_PUBLISHED,
    *,
    best: bool = False,
    every_metric: bool = False,
) -> TerminalTable:
    """Return the table of a result, which fits into 100 columns. Long names are folded, never cut.

    `best` adds the score of the selected restart. Published figures stand in dim rows. `every_metric` is
    for tables with a row for each system, which otherwise show headline metrics.
    """
    return TerminalTable(layout(result, published, best=best, every_metric=every_metric))


def _rich_table(shown: Layout, whole: int) -> Table:
    """Return a table for a terminal of `whole` characters."""
    from rich.table import Table

    table = Table(title=shown.title or None, title_justify="left")
    named = sum("\n" in header for header in shown.headers)
    spare = max(0, whole - shown.borders - sum(shown.widths)) // max(1, named)
    for number, (header, numeric, width) in enumerate(zip(shown.headers, shown.numeric, shown.widths, strict=True)):
        table.add_column(
            _folded(header, width + spare),
            justify="right" if numeric else "left",
            overflow="fold",
            no_wrap=numeric or header == "metric",  # names of tasks and systems are folded
            max_width=shown.name_width(whole) if shown.may_break and not number else None,
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


def as_markdown(shown: Layout, notes: Iterable[str]) -> str:
    """Write a table in Markdown, with the notes as a list below it; published figures are in italics."""
    lines = [
        _markdown_row(map(_markdown, shown.headers)),
        _markdown_row("---:" if numeric else "---" for numeric in shown.numeric),
    ]
    for line in shown.lines:
        cells = list(map(_markdown, line.cells))
        if line.kind == "published":
            cells = [f"*{cell}*" if cell else "" for cell in cells]
        for number in line.best:
            cells[number] = f"**{cells[number]}**"
        lines.append(_markdown_row(cells))
    lines.append("")
    lines += [f"- {_markdown(note)}" for note in notes]
    return "\n".join(lines)


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    """Escape what Markdown or HTML would read as markup."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    return re.sub(r"[\\|*_`\[\]#]", r"\\\g<0>", escaped)


_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
    }
)


def _latex(text: str) -> str:
    return " ".join(text.split()).translate(_LATEX)


def as_latex(shown: Layout, notes: Iterable[str]) -> str:
    """Write a table in LaTeX with the rules of the package booktabs; the notes stand as comments below it."""
    columns = "".join("r" if numeric else "l" for numeric in shown.numeric)
    lines = [
        f"\\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(map(_latex, shown.headers)),
        r"\midrule",
    ]
    for number, line in enumerate(shown.lines):
        if line.begins_group and number:
            lines.append(r"\midrule")
        cells = list(map(_latex, line.cells))
        if line.kind == "published":
            cells = [f"\\textit{{{cell}}}" if cell else "" for cell in cells]
        for number in line.best:
            cells[number] = f"\\textbf{{{cells[number]}}}"
        lines.append(_latex_row(cells))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [f"% {' '.join(note.split())}" for note in notes]
    return "\n".join(lines)


def _latex_row(cells: Iterable[str]) -> str:
    """Write the cells of a row; without the braces, `\\\\` before it would take a bracket as its option."""
    row = " & ".join(cells)
    return ("{}" if row.startswith("[") else "") + row + r" \\"


NAMES = ("system", "column", "backbone", "task", "split", "metric")
"""First columns of CSV: what a figure is of. A metric that the table leaves out has no column."""
SCORES = ("mean", "deviation", "restarts", "best_on_dev")
INTERVALS = ("examples_low", "examples_high", "restarts_low", "restarts_high")
TESTS = ("difference", "difference_low", "difference_high", "p", "adjusted_p", "claim")
COSTS = ("unit", "low", "high")
"""Further columns of CSV where costs were measured, whose lines have the quantity as column and the value as mean."""


def as_csv(result: Result) -> str:
    """Write a line for every score, with all digits: means, deviations, intervals, and the test of the difference.

    Figures that are no scores of fits, such as means of columns, come last.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    header = (*NAMES, *SCORES, *INTERVALS, *TESTS)
    further = COSTS if result.costs else ()
    writer.writerow((*header, *further))
    shown = set()
    for cell in result.cells:
        columns = result.columns_of(cell)
        system, backbone = cell.cell.system, _plain(cell.cell.backbone)
        for term, figure in cell.figures.items():
            place = (system, columns.get(term, ""))
            if place not in result.others:
                shown.add(place)
                values = _values(figure, result.statistics, place)
                names = (_plain(system), place[1], backbone, term.task, term.split, term.metric)
                writer.writerow([*names, *values, *[""] * len(further)])
    for place, figure in result.figures.items():
        if place not in shown:
            system, column = place
            values = _values(figure, result.statistics, place)
            writer.writerow([_plain(system), column, "", "", "", "", *values, *[""] * len(further)])
    for cost in result.costs:
        values = [_plain(cost.system), cost.quantity, *[""] * (len(NAMES) - 2), cost.value]
        writer.writerow([*values, *[""] * (len(header) - len(values)), cost.unit, cost.low, cost.high])
    return text.getvalue().rstrip("\n")


def _values(figure: Figure, statistics: StudyStatistics, place: Place) -> list[object]:
    """Return the values of a line, empty texts for absent ones."""
    values: list[object] = [figure.mean.value, figure.deviation, len(figure.values), figure.best.value]
    for interval in (statistics.intervals.get(place), figure.over_restarts):
        values += [None, None] if interval is None else [interval.low, interval.high]
    tests = [test for (system, _, column), test in statistics.tests.items() if (system, column) == place]
    if len(tests) == 1 and not statistics.is_ranking:  # of all pairs, JSON has the tests
        [test] = tests
        paired = test.comparison
        values += [paired.difference, paired.low, paired.high, paired.p, test.adjusted_p, paired.claim]
    else:
        values += [None] * len(TESTS)
    return ["" if value is None else value for value in values]


def _plain(text: str) -> str:
    """Put a quote before a name that a spreadsheet would read as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


DIM = ' style="opacity:0.6"'
_CELL = "padding:2px 10px;white-space:pre-wrap;text-align:{};unicode-bidi:isolate"


def as_html(result: Result) -> str:
    """Write the table of a result for notebooks, with its statistics; all names are escaped."""
    shown = layout(result, NOTHING_PUBLISHED)
    head, body = _html_row("th", shown.headers, shown.numeric), ""
    for line in shown.lines:
        body += _html_row("td", line.cells, shown.numeric, DIM if line.kind == "published" else "")
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in remarks(result))
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><ul>{notes}</ul>"


def _html_row(tag: str, cells: Iterable[str], is_numeric: Iterable[bool], style: str = "") -> str:
    row = ""
    for text, numeric in zip(cells, is_numeric, strict=True):
        side = "right" if numeric else "left"
        row += f'<{tag} style="{_CELL.format(side)}">{html.escape(text)}</{tag}>'
    return f"<tr{style}>{row}</tr>"


TEXT_FORMATS: Mapping[str, Callable[[Layout, Iterable[str]], str]] = {"markdown": as_markdown, "latex": as_latex}
"""Format -> the function that writes a table with its notes."""


def as_text(
    form: str,
    result: Result,
    published: PublishedChoice = NOTHING_PUBLISHED,
    *,
    best: bool = False,
    every_metric: bool = False,
    run_ids: bool = False,
) -> str:
    """Write a result in the format "markdown", "latex" or "csv"."""
    if form == "csv":
        return as_csv(result)
    shown = layout(result, published, best=best, every_metric=every_metric)
    return TEXT_FORMATS[form](shown, remarks(result, published, run_ids=run_ids))
