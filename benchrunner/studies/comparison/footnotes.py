"""Footnotes of a study's table: what the table cannot show, in a sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from benchrunner.leaderboards.published_choice import PublishedChoice, captions
from benchrunner.studies.cells import CellResult
from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED, task_rows
from benchrunner.studies.entries import Entry
from benchrunner.studies.intervals import share_interval
from benchrunner.studies.result import Result
from benchrunner.studies.study import Column

K = TypeVar("K")


def footnotes(result: Result, published: PublishedChoice = NOTHING_PUBLISHED) -> Iterator[str]:
    """Yield what the table cannot show: backbones, default methods that learn nothing, lost fits, absent scores, notes
    of cells and of statistics, and the sources of published figures."""
    if not result.study.systems_down:
        for named in result.study.systems:
            if not named.name.startswith(named.backbone):  # a name of a command line that does not say it
                yield f"{named.name}: {named.backbone}"
    for task in result.study.tasks:
        if task.method_reason and result.study.methods == ():
            yield f"{task.name} is answered by '{task.method}': {task.method_reason}"
    yield from _of_cells(result)
    yield from result.statistics.notes(result)
    if not result.study.systems_down:
        shown = [figure for row in task_rows(result, published) for figure in row.published]
        yield from captions(shown)
        yield from published.notes_on_missing(shown)


def _of_cells(result: Result) -> Iterator[str]:
    """Yield each note about cells once, with all places that it is about."""
    places_of: dict[str, list[tuple[str, str]]] = {}
    for column in result.study.columns:
        for system in (*result.study.names, *result.study.arms):
            entry = result.entries.get((system, column.name))
            for said, name in _notes_of(entry, column) if entry else ():
                places_of.setdefault(said, []).append((name, system))
    for said, places in places_of.items():
        yield f"{where(places, all_systems=len(result.study.names))}: {said}"


def _notes_of(entry: Entry, column: Column) -> Iterator[tuple[str, str]]:
    """Yield why a figure is absent and the notes about the fits behind it, each with the column's name."""
    cell = entry.cell
    if entry.figure.mean.value is None:
        yield f"no figure: {entry.figure.mean.reason}", column.name
    if cell is None:
        return
    for reason, fits in grouped((reason, fit) for fit, reason in cell.lost.items()).items():
        names = f"fit {fits[0]} has" if len(fits) == 1 else f"{len(fits)} fits ({fits[0]}, ...) have"
        yield f"{names} no scores: {reason}", column.title
    if 0 < cell.collapsed < len(cell.chosen_fits):
        yield _collapsed_note(cell), column.title
    expected = entry.expected or (0.0,)
    for said in _at_edge(cell) if abs(expected[-1] - expected[0]) > 1e-9 else ():  # not if all points are equal
        yield f"the best grid point lies at the edge of the grid: {said}", column.title
    for note in cell.notes:
        yield note, column.title


def _at_edge(cell: CellResult) -> Iterator[str]:
    """Say which values of the chosen grid point are the smallest or the largest of three numbers or more."""
    for name in cell.cell.fitting.grid.choices:
        values = {point.recipe.as_dict().get(name) for point in cell.cell.candidates}
        numbers = sorted(value for value in values if isinstance(value, int | float))
        chosen = cell.chosen and cell.chosen.as_dict().get(name)
        if len(numbers) > 2 and chosen in (numbers[0], numbers[-1]):
            side = "smallest" if chosen == numbers[0] else "largest"
            yield f"{name} {chosen:g} is the {side} of {len(numbers)}"


def _collapsed_note(cell: CellResult) -> str:
    """Say which share of fits collapses."""
    fits = len(cell.chosen_fits)
    share = share_interval(cell.collapsed, fits)
    return (
        f"{', '.join(cell.flagged) or 'no score'} in some restarts: {cell.collapsed} of {fits} learned nothing or have "
        f"no score (95 % interval of their share: {100 * share.low:.0f} to {100 * share.high:.0f} %), so that a mean "
        "of few restarts says little"
    )


def where(about: Iterable[tuple[str, str]], *, all_systems: int) -> str:
    """List pairs of a column and a system in few words: columns that have the same systems are named together."""
    columns_of = grouped((tuple(systems), column) for column, systems in grouped(about).items())
    places = []
    for systems, columns in columns_of.items():
        listed = ", ".join(columns)
        places.append(listed if len(systems) == all_systems else f"{', '.join(systems)} on {listed}")
    return "; ".join(places)


def grouped(pairs: Iterable[tuple[K, str]]) -> dict[K, list[str]]:
    """Map what is said to the different names that it is said about."""
    groups = dict[K, list[str]]()
    for said, name in pairs:
        names = groups.setdefault(said, [])
        if name not in names:
            names.append(name)
    return groups
