"""Reports for benchrunner: a study as one file of HTML that opens without a network, and its table for papers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from benchrunner import Commands, hookimpl, named_by_stub

if TYPE_CHECKING:
    from benchrunner.results import Result, comparison

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def register_commands(cli: Commands) -> None:
    about = "write a kept study, or finished runs, as one page of HTML"
    cli.add_parser("report", group="look", help=about, module="benchrunner_report.report_command")


@hookimpl
def describe_study(result: Result) -> Iterable[str]:
    from benchrunner_report.captions import caption

    return caption(result)


@hookimpl
def write_table(form: str, table: comparison.Layout, notes: Sequence[str], result: Result) -> str | None:
    from benchrunner_report.table_formats import as_html, as_latex, as_markdown

    if form == "latex":
        return as_latex(table, notes, result)
    if form == "markdown":
        return as_markdown(table, notes)
    return as_html(table, notes) if form == "html" else None
