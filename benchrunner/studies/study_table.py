"""Results of study files as tables and as JSON: systems down, columns across, with published figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.studies import comparison_table
from benchrunner.studies.study import CellResult, Result
from benchrunner.studies.study_file import Column, StudyFile, System
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task
from benchrunner.training import step_log

if TYPE_CHECKING:
    from rich.table import Table


@final
@dataclass(frozen=True)
class Entry:
    """The figure of one system in one column. Figures are on the scale on which they are printed."""

    mean: float | None = None
    """Mean over the restarts of the grid point that dev chose; None if there is no figure."""
    deviation: float | None = None
    restarts: tuple[float, ...] = ()
    best: float | None = None
    """Figure of the restart that dev selected."""
    decimals: int = 1
    reason: str = ""
    """Why there is no figure."""
    cell: CellResult | None = None
    """The result that a task's figure was taken from."""

    def shown(self) -> str:
        """Write the figure with its deviation and the number of restarts."""
        if self.mean is None:
            return comparison_table.ABSENT
        text = f"{self.mean:.{self.decimals}f}"
        return text if self.deviation is None else f"{text} ± {self.deviation:.{self.decimals}f} ({len(self.restarts)})"


@final
@dataclass(frozen=True)
class StudyFileResult:
    """A finished study file."""

    study: StudyFile
    """The study with the columns that were asked for."""
    entries: Mapping[tuple[str, str], Entry]
    """System and column, by name -> the figure."""
    results: tuple[Result, ...]
    """The studies that the entries were taken from."""

    @property
    def is_complete(self) -> bool:
        """Whether every fit finished and has scores."""
        return all(result.is_complete for result in self.results)


def entry_of_metric(cell: CellResult, task: Task, term: Term) -> Entry:
    """Make the entry of a task's metric."""
    spread = cell.spreads.get(term)
    if spread is None:
        return Entry(reason="no fit finished", cell=cell)
    scale = next(metric.scale for metric in task.metrics if metric.name == term.metric)

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * scale

    return Entry(
        mean=scaled(spread.mean.value),
        deviation=scaled(spread.deviation),
        restarts=tuple(value * scale for value in spread.values),
        best=scaled(spread.best.value),
        reason=spread.mean.reason or "",
        cell=cell,
    )


def entry_of_log(system: System, key: str) -> Entry:
    """Make the entry of a figure from the log of building a system: the last line with the key counts."""
    if system.figures is None:
        return Entry(reason="the study names no log of this system")
    if not system.figures.is_file():
        return Entry(reason=f"there is no file {system.figures}")
    figures = [line[key] for line in step_log.read(system.figures) if type(line.get(key)) in (int, float)]
    if not figures:
        return Entry(reason=f"{system.figures} has no '{key}'")
    last = float(figures[-1])
    return Entry(mean=last, restarts=(last,), best=last, decimals=2)


def as_table(result: StudyFileResult) -> Table:
    """Lay out systems as rows; a published figure stands below the measured figure."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_lines=True)
    table.add_column("system")
    for column in result.study.columns:
        table.add_column(escape(column.name), justify="right")
    for system in result.study.systems:
        table.add_row(escape(system.name), *(_shown(result, system, column) for column in result.study.columns))
    return table


def _shown(result: StudyFileResult, system: System, column: Column) -> str:
    entry = result.entries[system.name, column.name]
    published = column.published.get(system.name)
    return entry.shown() + ("" if published is None else f"\n[dim]paper {published:.{_decimals(column)}f}[/dim]")


def _decimals(column: Column) -> int:
    return 2 if column.figure else 1


def footnotes(result: StudyFileResult) -> Iterator[str]:
    """Yield what the table cannot show. A note that holds in several places is yielded once, with all of the places."""
    study = result.study
    if study.about:
        yield " ".join(study.about.split())
    if study.source and any(system.name in column.published for column in study.columns for system in study.systems):
        yield f"paper: {study.source}"
    for column in study.columns:
        if column.note:
            yield f"{column.name}: {column.note}"
    places: dict[str, dict[str, list[str]]] = {}  # note -> column -> systems
    for column in study.columns:
        for system in study.systems:
            for note in _notes(result.entries[system.name, column.name]):
                places.setdefault(note, {}).setdefault(column.name, []).append(system.name)
    for note, systems_of in places.items():
        yield f"{_where(systems_of, all_systems=len(study.systems))}: {note}"


def _where(systems_of: Mapping[str, list[str]], *, all_systems: int) -> str:
    """Name columns with their systems in few words: columns with the same systems are named together."""
    columns_of: dict[tuple[str, ...], list[str]] = {}
    for column, systems in systems_of.items():
        columns_of.setdefault(tuple(systems), []).append(column)
    return "; ".join(
        ", ".join(columns) if len(systems) == all_systems else f"{', '.join(systems)} on {', '.join(columns)}"
        for systems, columns in columns_of.items()
    )


def _notes(entry: Entry) -> Iterator[str]:
    if entry.mean is None:
        yield f"no figure: {entry.reason}"
    if entry.cell is not None:
        yield from (f"fit {fit} has no scores: {reason}" for fit, reason in entry.cell.lost.items())
        finished = len(entry.restarts)
        yield from (f"{flag} in {count} of {finished} restart(s)" for flag, count in entry.cell.flagged.items())
        yield from entry.cell.notes


def as_json(result: StudyFileResult) -> dict[str, Any]:
    """Return everything that the table shows, and the results behind it, as JSON values."""
    study = result.study
    return {
        "study": study.name,
        "file": str(study.path),
        "title": study.title,
        "source": study.source,
        "parameters": dict(study.values),
        "systems": [
            {
                "name": system.name,
                "backbone": system.backbone,
                "method": system.method,
                "make": list(system.make) if system.make is not None else None,
                "figures": str(system.figures) if system.figures is not None else None,
            }
            for system in study.systems
        ],
        "columns": [_column_json(column) for column in study.columns],
        "cells": [
            _entry_json(result.entries[system.name, column.name], system, column)
            for system in study.systems
            for column in study.columns
        ],
        "results": [comparison_table.as_json(part) for part in result.results],
        "notes": list(footnotes(result)),
    }


def _column_json(column: Column) -> dict[str, Any]:
    source = {"task": column.task or None, "split": column.split, "metric": column.metric, "method": column.method}
    return {"name": column.name, **source, "figure": column.figure or None, "recipe": dict(column.recipe)}


def _entry_json(entry: Entry, system: System, column: Column) -> dict[str, Any]:
    selected = entry.cell.selected if entry.cell is not None else None
    return {
        "system": system.name,
        "column": column.name,
        "mean": entry.mean,
        "deviation": entry.deviation,
        "restarts": list(entry.restarts),
        "best_on_dev": entry.best,
        "published": column.published.get(system.name),
        "selected": selected.id if selected is not None else None,
        **(comparison_table.selection_json(entry.cell.cell) if entry.cell is not None else {}),
        "reason": entry.reason or None,
    }
