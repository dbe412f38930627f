"""Footnotes of a study's table: what the table cannot show, with notes of one kind in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import final

from benchrunner.leaderboards.published_choice import PublishedChoice, captions
from benchrunner.studies.cells import Cell, CellResult
from benchrunner.studies.comparison.conclusions import grouped
from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED, task_rows
from benchrunner.studies.comparison.verdict import detectable, seen_from
from benchrunner.studies.result import Result
from benchrunner.studies.searching.budget import fit_epochs
from benchrunner.studies.searching.lines import is_searched
from benchrunner.studies.searching.until_clear import unclear_cells
from benchrunner.studies.significance.differences import SystemDifference
from benchrunner.studies.study import Column, Place, Study


@final
@dataclass(frozen=True)
class Note:
    """A line below a table that may stand for others of its kind."""

    said: str
    kind: str = ""
    """What notes of one kind have in common; empty for a note that always stands."""
    about: str = ""
    """Places of the table that the note is about, separated by semicolons."""

    @property
    def text(self) -> str:
        """The whole note."""
        return f"{self.about}: {self.said}" if self.about else self.said

    @property
    def short(self) -> str:
        """The note about its first places, without what follows a semicolon."""
        return replace(self, said=self.said.split("; ")[0], about=self.about.split("; ")[0]).text


def footnotes(
    result: Result, published: PublishedChoice = NOTHING_PUBLISHED, *, every_note: bool = True
) -> Iterator[str]:
    """Yield what the table cannot show: backbones, default methods that learn nothing, lost fits, absent scores and
    intervals, notes, and the sources of published figures.

    Without `every_note`, the first note of each kind stands for all, with the number of the others.
    """
    of_kind = dict[str, list[Note]]()
    for note in _notes(result, published):
        of_kind.setdefault(note.text if every_note else note.kind or note.text, []).append(note)
    for first, *others in of_kind.values():
        more = f" ({len(others)} more such note{'s' * (len(others) > 1)}: --notes)"
        yield f"{first.short}{more}" if others and not every_note else first.text


def _notes(result: Result, published: PublishedChoice) -> Iterator[Note]:
    yield from _named_backbones(result.study)
    for task in result.study.tasks:
        if task.method_reason and result.study.methods == ():
            yield Note(f"{task.name} is answered by '{task.method}': {task.method_reason}")
    yield from _of_cells(result)
    for clusters, columns in grouped((clusters, name) for name, clusters in result.statistics.clusters.items()).items():
        if clusters.are_few:
            said = (
                f"the {clusters.rows:,} rows are of {clusters.number} different values of '{clusters.name}'; intervals "
                "and tests ask about others, of which so few tell little"
            )
            yield Note(said, about=", ".join(columns))
    yield from _budgets(result)
    if result.study.looks:
        for said in _looks(result):
            yield Note(said)
    without_interval = []
    for (system, column), reason in result.statistics.absent.items():
        without_interval.append((reason, f"{system} on {column}"))
    for reason, places in grouped(without_interval).items():
        more = f" and {len(places) - 2} more" if len(places) > 2 else ""
        yield Note(reason, about=f"no interval for {', '.join(places[:2])}{more}")
    if not result.study.systems_down:
        shown = [figure for row in task_rows(result, published) for figure in row.published]
        for said in (*captions(shown), *published.notes_on_missing(shown)):
            yield Note(said)


def _named_backbones(study: Study) -> Iterator[Note]:
    """Yield the backbone of each system whose name, from a command line, does not say it."""
    for system in () if study.systems_down else study.systems:
        if not system.name.startswith(system.backbone):
            yield Note(system.backbone, "backbones", system.name)


def _looks(result: Result) -> Iterator[str]:
    """Yield that restarts were added until clear, where that is not reached, and what may spoil the level."""
    yield f"{result.cells[-1].cell.fitting.looks_note}; a clear difference is that of the look that showed it"
    unclear: dict[str, list[SystemDifference]] = {}
    for pairing, test in result.statistics.tests.items():
        if not test.is_clear:
            unclear.setdefault(pairing.column, []).append(test)
    if unclear:
        seen = [f"{column} ({seen_from(detectable(result, column, tests))})" for column, tests in unclear.items()]
        yield f"still not clear: {', '.join(seen)}"
    waiting = unclear_cells(result)
    if waiting:
        yield f"with a larger budget, or none, the same command adds restarts to {', '.join(waiting)}"
    if result.study.begun_after:
        yield (
            f"fits of this study were run before, for {', '.join(result.study.begun_after)}, without these looks: if "
            "what they showed made you add restarts, false marks are more frequent than 5 %"
        )


def _budgets(result: Result) -> Iterator[Note]:
    """Say what was tried and trained for each system, where grid points may be left out or systems differ in this.

    Fits of several methods are not compared by their number and epochs, nor are restarts that are added until clear.
    """
    for column in result.study.columns:
        cells = dict[str, Cell]()
        for name in result.study.names if column.is_tested else ():
            if (name, column.name) in result.cell_at:
                cells[name] = result.cell_at[name, column.name].cell
        by_points = len({fit.method for cell in cells.values() for fit in cell.fits}) > 1 or result.study.looks
        ways = dict[str, None]()
        budgets = {}
        for name, cell in cells.items():
            fitting, points, epochs = cell.fitting, len(cell.candidates), fit_epochs(cell)
            if is_searched(cell):
                ways[fitting.search or f"early stop {fitting.early_stop}"] = None
            trained = "" if by_points else f", {len(epochs)} fits, {sum(epochs.values()):g} epochs"
            budgets[name] = f"{points} grid point{'s' * (points > 1)}{trained}"
        is_equal = len(set(budgets.values())) < 2
        if is_equal and not ways:
            continue
        chosen_by = f"{', '.join(ways)} chose which grid points are trained; " if ways else ""
        listed = "; ".join(f"{name} {budget}" for name, budget in budgets.items())
        said = f"{chosen_by}{'trained were' if is_equal else 'the systems had different budgets'}: {listed}"
        yield Note(said + _favour(result, column, cells, is_sample=not ways), "budgets", column.title)


def _favour(result: Result, column: Column, cells: Mapping[str, Cell], *, is_sample: bool) -> str:
    """Say whom the choice on dev favours, and what to expect of equal numbers of grid points; nothing if of none.

    What a search chose is no sample.
    """
    numbers = {len(cell.candidates) for cell in cells.values()}
    if len(numbers) < 2:
        return ""
    least = min(numbers)
    said = "; the choice on dev favours the system with more grid points, by chance alone"
    expected = []
    for name in cells:
        best = result.statistics.trials.get((name, column.name), ())[least - 1 : least]
        expected += [f"{name} {result.figures[name, column.name].text(value)}" for value in best]
    if not is_sample or len(expected) < len(cells):
        return said
    return f"{said}; to be expected of {least} grid point{'s' * (least > 1)}: {', '.join(expected)}"


def _of_cells(result: Result) -> Iterator[Note]:
    """Yield each note about cells once, with all places that it is about."""
    systems = (*result.study.names, *result.study.arms)
    places_of: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for column in result.study.columns:
        for system in systems:
            place = (system, column.name)
            for said, kind, name in _notes_at(place, column, result):
                note = (said, kind)
                places_of.setdefault(note, []).append((name, system))
    for (said, kind), places in places_of.items():
        where = _where(places, all_systems=len(result.study.names))
        yield Note(said, kind, where)


def _notes_at(place: Place, column: Column, result: Result) -> Iterator[tuple[str, str, str]]:
    """Yield why a figure is absent and the notes about the fits behind it, each with its kind and the column's name."""
    figure, cell = result.figures.get(place), result.cell_at.get(place)
    if figure is not None and figure.mean.value is None:
        yield f"no figure: {figure.mean.reason}", "", column.name
    if cell is None:
        return
    for reason, fits in grouped((reason, fit) for fit, reason in cell.lost.items()).items():
        names = f"fit {fits[0]} has" if len(fits) == 1 else f"{len(fits)} fits ({fits[0]}, ...) have"
        yield f"{names} no scores: {reason}", f"lost: {_without_numbers(reason)}", column.title
    if 0 < cell.collapsed < len(cell.chosen_fits):
        yield _collapsed_note(cell, place, result), "collapsed fits", column.title
    expected = result.statistics.trials.get(place) or (0.0,)
    for said in _at_edge(cell) if abs(expected[-1] - expected[0]) > 1e-9 else ():  # not if all points are equal
        yield f"the best grid point lies at the edge of the grid: {said}", "edge of the grid", column.title
    for note in cell.notes:
        yield note, _without_numbers(note), column.title


def _at_edge(cell: CellResult) -> Iterator[str]:
    """Say which values of the chosen grid point are the smallest or the largest of three numbers or more."""
    for name in cell.cell.fitting.grid.choices:
        values = {point.recipe.as_dict().get(name) for point in cell.cell.candidates}
        numbers = sorted(value for value in values if isinstance(value, int | float))
        chosen = cell.chosen and cell.chosen.as_dict().get(name)
        if len(numbers) > 2 and chosen in (numbers[0], numbers[-1]):
            side = "smallest" if chosen == numbers[0] else "largest"
            yield f"{name} {chosen:g} is the {side} of {len(numbers)}"


def _without_numbers(said: str) -> str:
    """Return what notes with other numbers have in common."""
    return re.sub(r"\d[\d,.]*(?:e-?\d+)?", "0", said)


def _collapsed_note(cell: CellResult, place: Place, result: Result) -> str:
    """Say which share of fits collapses, and what can be said instead of the difference of the means."""
    from benchrunner.statistics.intervals import share_interval

    fits = len(cell.chosen_fits)
    share = share_interval(cell.collapsed, fits)
    said = (
        f"{cell.collapsed} of {fits} restarts learned nothing or have no score (95 % interval of their share: "
        f"{100 * share.low:.0f} to {100 * share.high:.0f} %), so that a mean of few restarts says little"
    )
    chances = {}
    for other, test in result.statistics.of_places[place].items():
        if test.chance is not None:
            chances[other] = test.chance
    if chances:
        hardest = min(chances, key=lambda other: chances[other].value)
        chance = chances[hardest]
        said += (
            f"; a new fit beats one of {hardest} with a chance of {100 * chance.value:.0f} % "
            f"({100 * chance.low:.0f} to {100 * chance.high:.0f} %)"
        )
    return said


def _where(about: Iterable[tuple[str, str]], *, all_systems: int) -> str:
    """List pairs of a column and a system in few words: columns that have the same systems are named together."""
    columns_of = grouped((tuple(systems), column) for column, systems in grouped(about).items())
    places = []
    for systems, columns in columns_of.items():
        listed = ", ".join(columns)
        places.append(listed if len(systems) == all_systems else f"{', '.join(systems)} on {listed}")
    return "; ".join(places)
