"""The table of a study for terminals, as CSV, and as the texts that plugins write: all are views of one layout."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

from benchrunner.errors import RequestError
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.comparison.facts import facts
from benchrunner.studies.comparison.layout import EVERYTHING, NOTHING_PUBLISHED, layout
from benchrunner.studies.comparison.table import Layout, Line, Shown
from benchrunner.studies.result import Result


def as_table(
    result: Result, published: PublishedChoice = NOTHING_PUBLISHED, shown: Shown = EVERYTHING, *, long: bool = False
) -> Layout:
    """Return the table of a result, or with `long` a row for each score."""
    return long_layout(result) if long else layout(result, published, shown)


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
    table = as_table(result, published, shown, long=long)
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
