"""The table of a study for terminals, and as Markdown, LaTeX and HTML: all are views of one layout."""

from __future__ import annotations

import csv
import html
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.comparison.layout import EVERYTHING, NOTHING_PUBLISHED, WIDTH, layout
from benchrunner.studies.comparison.remarks import remarks
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
        lines.append(_markdown_row(_emphasized(line, _markdown, "*{}*", "**{}**")))
    lines.append("")
    lines += [f"- {_markdown(note)}" for note in (shown.title, *notes) if note]
    return "\n".join(lines)


def _emphasized(line: Line, escape: Callable[[str], str], published: str, best: str) -> Iterator[str]:
    """Yield the escaped cells of a line: published figures, and the best figures of a column, in their forms."""
    for number, text in enumerate(line.cells):
        cell = escape(text)
        if number in line.best:
            cell = best.format(cell)
        elif cell and line.kind == "published":
            cell = published.format(cell)
        yield cell


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
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "±": r"$\pm$",
    }
)


def _latex(text: str) -> str:
    return " ".join(text.split()).translate(_LATEX)


LATEX_PACKAGES = "% In the preamble: \\usepackage{booktabs,graphicx}"


def as_latex(shown: Layout, notes: Iterable[str]) -> str:
    """Write a floating table in LaTeX, not wider than the text, with its legend; notes stand as comments below it."""
    columns = "".join("r" if numeric else "l" for numeric in shown.numeric)
    lines = [
        LATEX_PACKAGES,
        r"\begin{table}",
        r"\centering",
        *([f"\\caption{{{_latex(shown.title)}}}"] if shown.title else ()),
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        f"\\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _latex_row(map(_latex_header, shown.headers, shown.numeric)),
        r"\midrule",
    ]
    for number, line in enumerate(shown.lines):
        if line.begins_group and number:
            lines.append(r"\midrule")
        lines.append(_latex_row(_emphasized(line, _latex, r"\textit{{{}}}", r"\textbf{{{}}}")))
    lines += [r"\bottomrule", r"\end{tabular}}"]
    if shown.legend:
        lines += [r"\par\smallskip\footnotesize", *(f"{_latex(text.replace('  ', ': ', 1))}." for text in shown.legend)]
    lines.append(r"\end{table}")
    lines += [f"% {' '.join(note.split())}" for note in notes]
    return "\n".join(lines)


def _latex_header(header: str, numeric: bool) -> str:
    """Write the lines of a header below each other."""
    lines = r" \\ ".join(map(_latex, header.split("\n")))
    side = "r" if numeric else "l"
    return f"\\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{lines}\\end{{tabular}}" if "\n" in header else lines


def _latex_row(cells: Iterable[str]) -> str:
    """Write the cells of a row; without the braces, `\\\\` before it would take a bracket or a star as its option."""
    row = " & ".join(cells)
    return ("{}" if row.startswith(("[", "*")) else "") + row + r" \\"


def as_html(shown: Layout, notes: Iterable[str]) -> str:
    """Write a table in HTML for pages of any style and for notebooks, with the notes as a list below it."""
    head = _html_row(f'<th scope="col">{_html(header)}</th>' for header in shown.headers)
    body = ""
    for number, line in enumerate(shown.lines):
        if line.begins_group and number:
            body += "</tbody>\n<tbody>\n"
        body += _html_row(_html_cells(line, shown.lines[number + 1 :]))
    caption = f"<caption>{_html(shown.title)}</caption>\n" if shown.title else ""
    table = f"<table>\n{caption}<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table>\n"
    listed = "".join(f"<li>{_html(note)}</li>\n" for note in notes)
    return f"{table}<ul>\n{listed}</ul>" if listed else table.rstrip()


def _html_row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(cells)}</tr>\n"


def _html_cells(line: Line, below: Iterable[Line]) -> Iterator[str]:
    """Yield the cells of a line. Its name is the header of the nameless lines below too, which have no such cell."""
    name, *figures = _emphasized(line, _html, "<em>{}</em>", "<strong>{}</strong>")
    if line.cells[0]:
        rows = 1
        for other in below:
            if other.cells[0]:
                break
            rows += 1
        spanned = f' rowspan="{rows}"' if rows > 1 else ""
        yield f'<th scope="row"{spanned}>{name}</th>'
    for figure in figures:
        yield f"<td>{figure}</td>"


def _html(text: str) -> str:
    """Escape a text of one or several lines."""
    return "<br>".join(html.escape(" ".join(line.split())) for line in text.split("\n"))


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


TEXT_FORMATS: Mapping[str, Callable[[Layout, Iterable[str]], str]] = {
    "markdown": as_markdown,
    "latex": as_latex,
    "html": as_html,
}
"""Format -> the function that writes a table with its notes."""


def as_text(
    form: str,
    result: Result,
    published: PublishedChoice = NOTHING_PUBLISHED,
    shown: Shown = EVERYTHING,
    *,
    long: bool = False,
) -> str:
    """Write the table of a result in the format "markdown", "latex", "html" or "csv"; `long` has a row for each score.

    CSV has fractions, in the table with a row for each system.
    """
    if form == "csv":
        return as_csv(result.scores() if long else result.table(every_metric=shown.every_metric))
    table = long_layout(result) if long else layout(result, published, shown)
    return TEXT_FORMATS[form](table, remarks(result, published, shown))


def as_page(result: Result) -> str:
    """Write the table that a notebook shows."""
    return as_text("html", result)
