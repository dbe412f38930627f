"""Output of commands: JSON, tables with their footnotes, and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from benchrunner.console.printing import new_console, print_data, print_line, printable
from benchrunner.console.standard_streams import own_output

if TYPE_CHECKING:
    from rich.console import RenderableType

    from benchrunner.leaderboards.published_choice import PublishedChoice
    from benchrunner.studies.comparison.table import Shown
    from benchrunner.studies.result import Result

DONE = 0
FAILED = 1
MISUNDERSTOOD = 2
"""Exit codes."""
SIGNALLED = 128
"""Exit code of a stopped command, less the number of the signal: shells use 130 for Ctrl-C and 143 for SIGTERM."""

PLAIN_WIDTH = 140
"""Characters of a table's line if standard output is not a terminal."""


def print_json(value: Any) -> None:
    """Print a value as `as_json` gives it.

    Characters that standard output cannot encode or a terminal would obey are escaped.
    """
    import json

    from benchrunner.io.json_form import as_json

    value = as_json(value)
    text = json.dumps(value, indent=2, ensure_ascii=False)
    with own_output() as output:
        unicode = output is None or (output.encoding or "").lower().replace("-", "").startswith("utf")
    if not (unicode and text.replace("\n", "").isprintable()):
        text = json.dumps(value, indent=2)
    print_data(f"{text}\n")


def print_table(table: RenderableType, footnotes: Iterable[str], *, title: str = "") -> None:
    """Print a table with footnotes below it."""
    if title:
        print_line(title)
    new_console(width=None if _is_terminal() else PLAIN_WIDTH).print(table)
    for note in footnotes:
        print_line(_wrapped(f"  {note}", indent=2))


FORMATS = ("table", "markdown", "csv", "json", "latex", "html")
"""Formats of a comparison."""
OWN_FORMATS = ("table", "csv", "json")
"""Those that need no plugin."""


def print_result(
    result: Result,
    published: PublishedChoice,
    *,
    form: str = "table",
    shown: Shown | None = None,
    long: bool = False,
    notes_by: str = "",
    then: str = "kept as the study",
) -> int:
    """Print a study's result, beside published figures; return the exit code: whether every fit finished.

    `form` is one of `FORMATS`. `shown` is by default everything. `long` prints a row for
    each score in place of the table. `notes_by` is the option or command that shows the notes which five lines below a
    table hold back; without it, all notes are printed. `then` stands before the study's name.
    """
    from benchrunner.studies.comparison.facts import lines_below
    from benchrunner.studies.comparison.formats import as_table, as_text
    from benchrunner.studies.comparison.json_values import as_json
    from benchrunner.studies.comparison.table import Shown

    shown = shown or Shown()
    if form == "json":
        print_json(list(result.scores()) if long else as_json(result, published))
    elif form == "table":
        print_table(
            as_table(result, published, shown, long=long),
            lines_below(result, published, shown, notes_by=notes_by, then=then),
            title=result.study.title,
        )
    else:
        print_data(as_text(form, result, published, shown, long=long) + "\n")
    return DONE if result.is_complete else FAILED


def print_columns(rows: Iterable[tuple[str, object]]) -> None:
    """Print names with a line about each."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    for name, about in rows:
        print_line(_wrapped(f"  {name:<{width}}  {about}", indent=width + 4))


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _wrapped(text: str, *, indent: int) -> str:
    """Break a line at blanks to the width of the terminal, if there is one; a program reads whole lines."""
    if not _is_terminal():
        return text
    import shutil
    import textwrap

    width = max(shutil.get_terminal_size().columns, indent + 20)
    return textwrap.fill(
        printable(text), width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
