"""A study file's result: systems down, columns across, and what was published for the row of the same name."""

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
    """One place of the table. Figures are on the scale on which they are printed."""

    mean: float | None = None
    """Over the restarts of the grid point that dev chose; None where there is no figure."""
    deviation: float | None = None
    restarts: tuple[float, ...] = ()
    best: float | None = None
    """Of the restart that dev selected."""
    decimals: int = 1
    reason: str = ""
    """Why there is no figure."""
    cell: CellResult | None = None
    """Where it comes from fits."""

    def shown(self) -> str:
        if self.mean is None:
            return comparison_table.ABSENT
        text = f"{self.mean:.{self.decimals}f}"
        return text if self.deviation is None else f"{text} ± {self.deviation:.{self.decimals}f} ({len(self.restarts)})"


@final
@dataclass(frozen=True)
class Crossed:
    """A finished study file."""

    study: StudyFile
    columns: tuple[Column, ...]
    """Those that were asked for."""
    entries: Mapping[tuple[str, str], Entry]
    """By system and column."""
    results: tuple[Result, ...]
    """What the entries were taken from."""


def scored(cell: CellResult, task: Task, term: Term) -> Entry:
    """The entry of a task's metric."""
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


def logged(system: System, key: str) -> Entry:
    """The entry of a figure that making the system left: the last that its log has."""
    if system.figures is None:
        return Entry(reason="the study names no log of it")
    if not system.figures.is_file():
        return Entry(reason=f"there is no file {system.figures}")
    found = [line[key] for line in step_log.read(system.figures) if type(line.get(key)) in (int, float)]
    if not found:
        return Entry(reason=f"{system.figures} has no '{key}'")
    last = float(found[-1])
    return Entry(mean=last, restarts=(last,), best=last, decimals=2)


def table(crossed: Crossed) -> Table:
    """Under ours, where there is one, the published figure."""
    from rich.markup import escape
    from rich.table import Table

    study = crossed.study
    found = Table(show_lines=True)
    found.add_column("system")
    for column in crossed.columns:
        found.add_column(escape(column.name), justify="right")
    for system in study.systems:
        found.add_row(escape(system.name), *(_shown(crossed, system, column) for column in crossed.columns))
    return found


def _shown(crossed: Crossed, system: System, column: Column) -> str:
    entry = crossed.entries[system.name, column.name]
    published = column.published.get(system.name)
    return entry.shown() + ("" if published is None else f"\n[dim]paper {published:.{_decimals(column)}f}[/dim]")


def _decimals(column: Column) -> int:
    return 2 if column.figure else 1


def footnotes(crossed: Crossed) -> Iterator[str]:
    """What the table cannot say; what holds in several places is said once, with all of them."""
    study = crossed.study
    if study.about:
        yield " ".join(study.about.split())
    if study.source and any(one.name in column.published for column in crossed.columns for one in study.systems):
        yield f"paper: {study.source}"
    for column in crossed.columns:
        if column.note:
            yield f"{column.name}: {column.note}"
    said: dict[str, dict[str, list[str]]] = {}
    for column in crossed.columns:
        for system in study.systems:
            for text in _said_of(crossed.entries[system.name, column.name]):
                said.setdefault(text, {}).setdefault(column.name, []).append(system.name)
    for text, places in said.items():
        yield f"{_where(places, everywhere=len(study.systems))}: {text}"


def _where(places: Mapping[str, list[str]], *, everywhere: int) -> str:
    """Columns with their systems, in few words: columns that have the same ones are named together."""
    together: dict[tuple[str, ...], list[str]] = {}
    for column, systems in places.items():
        together.setdefault(tuple(systems), []).append(column)
    return "; ".join(
        ", ".join(columns) if len(systems) == everywhere else f"{', '.join(systems)} on {', '.join(columns)}"
        for systems, columns in together.items()
    )


def _said_of(entry: Entry) -> Iterator[str]:
    if entry.mean is None:
        yield f"no figure: {entry.reason}"
    if entry.cell is not None:
        yield from (f"fit {fit} has no scores: {reason}" for fit, reason in entry.cell.lost.items())
        finished = len(entry.restarts)
        yield from (f"{flag} in {count} of {finished} restart(s)" for flag, count in entry.cell.flagged.items())
        yield from entry.cell.notes


def as_json(crossed: Crossed) -> dict[str, Any]:
    """Everything the table shows and what stands behind it."""
    study = crossed.study
    return {
        "study": study.name,
        "file": str(study.path),
        "title": study.title,
        "source": study.source,
        "parameters": dict(study.values),
        "systems": [
            {
                "name": one.name,
                "backbone": one.backbone,
                "method": one.method,
                "make": list(one.make) if one.make is not None else None,
                "figures": str(one.figures) if one.figures is not None else None,
            }
            for one in study.systems
        ],
        "columns": [_column_json(one) for one in crossed.columns],
        "cells": [
            _entry_json(crossed.entries[system.name, column.name], system, column)
            for system in study.systems
            for column in crossed.columns
        ],
        "results": [comparison_table.as_json(one) for one in crossed.results],
        "notes": list(footnotes(crossed)),
    }


def _column_json(column: Column) -> dict[str, Any]:
    asked = {"task": column.task or None, "split": column.split, "metric": column.metric, "method": column.method}
    return {"name": column.name, **asked, "figure": column.figure or None, "recipe": dict(column.recipe)}


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
        "reason": entry.reason or None,
    }
