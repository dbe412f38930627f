"""Tables of the results that a leaderboard lists, one or several for each source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from benchrunner import PublishedColumn, PublishedRow, published

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 97
"""Most characters of a table."""


def tables(
    columns: Mapping[str, PublishedColumn], rows: Sequence[PublishedRow]
) -> Iterator[tuple[str, Table, Sequence[str]]]:
    """Yield the tables of a board, each with its title and the notes below it: see `Board.tables`."""
    rows_of: dict[tuple[str, ...], list[PublishedRow]] = {}
    for row in rows:
        rows_of.setdefault((row.source, row.version, row.other_data), []).append(row)
    for (source, version, _), own in rows_of.items():
        filled = set[str]().union(*(row.cells for row in own))
        shown = {name: column for name, column in columns.items() if name in filled}
        title = f"{source}, version {version}" if version else source
        *parts, last = _parts(own, list(shown))
        for part in parts:
            yield title, _table(shown, own, part), ()
            title = ""
        yield title, _table(shown, own, last), _notes(shown, own)


def _parts(rows: Sequence[PublishedRow], columns: Sequence[str]) -> list[list[str]]:
    """Cut the columns of a table that is too wide for a terminal into several tables."""
    room = WIDTH - max(len(row.name) for row in rows)
    parts, left = list[list[str]](), 0
    for name in columns:
        width = max(len(name), len("100.0")) + 2
        if width > left:
            parts.append([])
            left = room
        parts[-1].append(name)
        left -= width
    return parts


def _table(columns: Mapping[str, PublishedColumn], rows: Sequence[PublishedRow], names: Sequence[str]) -> Table:
    """Lay out systems as rows; below the name of each column stands dev or test."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("system")
    for name in names:
        table.add_column(f"{escape(name)}\n{columns[name].kind}", justify="right")
    for row in rows:
        cells = [published.figure_text(row.cells[name]) if name in row.cells else "-" for name in names]
        table.add_row(escape(row.name), *cells)
    return table


def _notes(columns: Mapping[str, PublishedColumn], rows: Sequence[PublishedRow]) -> list[str]:
    """Name the metric of each column, and what else must be known to read the figures of one source."""
    names_of: dict[str, list[str]] = {}
    for name, measures in columns.items():
        metric = f"{measures.metric} (over the tasks of {measures.suite})" if measures.suite else measures.metric
        names_of.setdefault(metric, []).append(name)
    notes = [f"{metric}: {', '.join(names)}" for metric, names in names_of.items()]
    notes += [f"{row.name}: {row.notes}" for row in rows if row.notes]
    if rows[0].other_data:
        notes.append(f"never shown beside ours: {rows[0].other_data}")
    return notes
