"""Tables of the results that a leaderboard lists, one or several for each source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchrunner import PublishedColumn, PublishedRow, published
from benchrunner.results import comparison


def tables(
    columns: Mapping[str, PublishedColumn], rows: Sequence[PublishedRow]
) -> Iterator[tuple[str, comparison.Layout, Sequence[str]]]:
    """Yield the tables of a board, each with its title and the notes below it: see `Board.tables`."""
    rows_of: dict[tuple[str, ...], list[PublishedRow]] = {}
    for row in rows:
        rows_of.setdefault((row.source, row.version, row.other_data), []).append(row)
    for (source, version, _), own in rows_of.items():
        filled = set[str]().union(*(row.cells for row in own))
        shown = {name: column for name, column in columns.items() if name in filled}
        title = f"{source}, version {version}" if version else source
        yield title, _table(shown, own), _notes(shown, own)


def _table(columns: Mapping[str, PublishedColumn], rows: Sequence[PublishedRow]) -> comparison.Layout:
    """Lay out systems as rows; below the name of each column stands dev or test."""
    headers = ["system", *(f"{name}\n{column.kind}" for name, column in columns.items())]
    lines = []
    for row in rows:
        cells = [published.figure_text(row.cells[name]) if name in row.cells else "-" for name in columns]
        lines.append(comparison.Line((row.name, *cells)))
    return comparison.Layout(tuple(headers), (False, *[True] * len(columns)), tuple(lines), "")


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
