"""The published results of a leaderboard as terminal tables, one for each source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner.leaderboards.published import PublishedRow, figure_text

if TYPE_CHECKING:
    from rich.table import Table


@final
@dataclass(frozen=True)
class SourceTable:
    """The published rows of one source."""

    title: str
    table: Table
    notes: tuple[str, ...]
    """The metric of each column, and what else must be known to read the figures."""


def source_tables(board: Leaderboard) -> Iterator[SourceTable]:
    """Yield a table for each source of the leaderboard's published rows, in their order."""
    rows_of: dict[tuple[str, str, str], list[PublishedRow]] = {}
    for row in board.published:
        rows_of.setdefault((row.source, row.version, row.other_data), []).append(row)
    for (source, version, _), rows in rows_of.items():
        filled = {name for row in rows for name in row.cells}
        columns = [name for name in board.columns if name in filled]
        title = f"{source}, version {version}" if version else source
        yield SourceTable(title, _table(board, rows, columns), tuple(_notes(board, rows, columns)))


def _table(board: Leaderboard, rows: Sequence[PublishedRow], columns: Sequence[str]) -> Table:
    """Lay out systems as rows; below the name of each column stands dev or test."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("system")
    for name in columns:
        table.add_column(f"{escape(name)}\n{board.columns[name].kind}", justify="right")
    for row in rows:
        cells = (figure_text(row.cells[name]) if name in row.cells else "-" for name in columns)
        table.add_row(escape(row.name) + (" *" if row.by_default else ""), *cells)
    return table


def _notes(board: Leaderboard, rows: Sequence[PublishedRow], columns: Sequence[str]) -> Iterator[str]:
    columns_of: dict[str, list[str]] = {}
    for name in columns:
        measures = board.columns[name]
        metric = f"{measures.metric} (over the tasks of {measures.suite})" if measures.suite else measures.metric
        columns_of.setdefault(metric, []).append(name)
    yield from (f"{metric}: {', '.join(names)}" for metric, names in columns_of.items())
    systems_of: dict[str, list[str]] = {}
    for row in rows:
        if row.notes:
            systems_of.setdefault(row.notes, []).append(row.name)
    for note, systems in systems_of.items():
        yield note if len(systems) == len(rows) else f"{', '.join(systems)}: {note}"
    if rows[0].other_data:
        yield f"never shown beside ours: {rows[0].other_data}"
