"""The table of a study as Markdown, CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Iterable, Mapping

from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.cells import Figure
from benchrunner.studies.comparison.caption import NOTHING_PUBLISHED, remarks
from benchrunner.studies.comparison.layout import Layout, layout
from benchrunner.studies.result import Result
from benchrunner.studies.study import Place
from benchrunner.studies.study_statistics import StudyStatistics


def as_markdown(shown: Layout, notes: Iterable[str]) -> str:
    """Write a table in Markdown, with the notes as a list below it; published figures are in italics."""
    lines = ["| " + " | ".join(_markdown(header) for header in shown.headers) + " |"]
    lines.append("|" + "|".join(" ---: " if numeric else " --- " for numeric in shown.numeric) + "|")
    for line in shown.lines:
        cells = (_markdown(cell) for cell in line.cells)
        italic = line.kind == "published"
        lines.append("| " + " | ".join(f"*{cell}*" if italic and cell else cell for cell in cells) + " |")
    return "\n".join([*lines, "", *(f"- {_markdown(note)}" for note in notes)])


def _markdown(text: str) -> str:
    """Escape what Markdown or HTML would read as markup."""
    escaped = html.escape(" ".join(text.split()), quote=False)
    return "".join(f"\\{character}" if character in "\\|*_`[]#" else character for character in escaped)


_LATEX: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def as_latex(shown: Layout, notes: Iterable[str]) -> str:
    """Write a table in LaTeX with the rules of the package booktabs; the notes stand as comments below it."""
    columns = "".join("r" if numeric else "l" for numeric in shown.numeric)
    lines = [f"\\begin{{tabular}}{{{columns}}}", r"\toprule"]
    lines += [" & ".join(map(_latex, shown.headers)) + r" \\", r"\midrule"]
    for line in shown.lines:
        if line.begins_group:
            lines.append(r"\midrule")
        cells = map(_latex, line.cells)
        italic = line.kind == "published"
        row = " & ".join(f"\\textit{{{cell}}}" if italic and cell else cell for cell in cells)
        lines.append(("{}" if row.startswith("[") else "") + row + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*lines, *(f"% {' '.join(note.split())}" for note in notes)])


NAMES = ("system", "column", "backbone", "task", "split", "metric")
"""First columns of CSV: what a figure is of. A metric that the table leaves out has no column."""
SCORES = ("mean", "deviation", "restarts", "best_on_dev")
INTERVALS = ("examples_low", "examples_high", "restarts_low", "restarts_high")
TESTS = ("difference", "difference_low", "difference_high", "p", "adjusted_p", "claim")


def as_csv(result: Result) -> str:
    """Write a line for every score, with all digits: means, deviations, intervals, and the test of the difference.

    Figures that are no scores of fits, such as means of columns, come last.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*NAMES, *SCORES, *INTERVALS, *TESTS))
    shown = set[Place]()
    for cell in result.cells:
        columns = result.columns_of(cell)
        for term, figure in cell.figures.items():
            place = (cell.cell.system, columns.get(term, ""))
            if place not in result.others:
                shown.add(place)
                names = (place[1], _plain(cell.cell.backbone), term.task, term.split, term.metric)
                writer.writerow([_plain(place[0]), *names, *_values(figure, result.statistics, place)])
    for place, figure in result.figures.items():
        if place not in shown:
            values = _values(figure, result.statistics, place)
            writer.writerow([_plain(place[0]), place[1], "", "", "", "", *values])
    return text.getvalue().rstrip("\n")


def _values(figure: Figure, statistics: StudyStatistics, place: Place) -> list[object]:
    """Return the values of a line, empty texts for absent ones."""
    values: list[object] = [figure.mean.value, figure.deviation, len(figure.values), figure.best.value]
    for interval in (statistics.intervals.get(place), figure.over_restarts):
        values += [None, None] if interval is None else [interval.low, interval.high]
    test = statistics.tests.get(place)
    if test is None:
        values += [None] * len(TESTS)
    else:
        paired = test.comparison
        values += [paired.difference, paired.low, paired.high, paired.p, test.adjusted_p, paired.claim]
    return ["" if value is None else value for value in values]


def _plain(text: str) -> str:
    """Put a quote before a name that a spreadsheet would read as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


DIM = ' style="opacity:0.6"'
_CELL = "padding:2px 10px;white-space:pre-wrap;text-align:{};unicode-bidi:isolate"


def as_html(result: Result) -> str:
    """Write the table of a result for notebooks, with its statistics; all names are escaped."""
    shown, body = layout(result, NOTHING_PUBLISHED), list[str]()
    sides = ["right" if numeric else "left" for numeric in shown.numeric]
    head = "".join(_html_cell("th", text, side) for text, side in zip(shown.headers, sides, strict=True))
    for line in shown.lines:
        cells = [_html_cell("td", text, side) for text, side in zip(line.cells, sides, strict=True)]
        body.append(f"<tr{DIM if line.kind == 'published' else ''}>{''.join(cells)}</tr>")
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in remarks(result))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table><ul>{notes}</ul>"


def _html_cell(tag: str, text: str, side: str) -> str:
    return f'<{tag} style="{_CELL.format(side)}">{html.escape(text)}</{tag}>'


TEXT_FORMATS: Mapping[str, Callable[[Layout, Iterable[str]], str]] = {"markdown": as_markdown, "latex": as_latex}
"""Format -> the function that writes a table with its notes."""


def as_text(
    form: str,
    result: Result,
    published: PublishedChoice = NOTHING_PUBLISHED,
    *,
    best: bool = False,
    run_ids: bool = False,
) -> str:
    """Write a result in the format "markdown", "latex" or "csv"."""
    if form == "csv":
        return as_csv(result)
    return TEXT_FORMATS[form](layout(result, published, best=best), remarks(result, published, run_ids=run_ids))
