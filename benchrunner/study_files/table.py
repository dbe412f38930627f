"""Results of study files as tables and as JSON: systems down, columns across, with published figures."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from benchrunner.studies.comparison import json_values
from benchrunner.studies.comparison.caption import preset_note
from benchrunner.studies.comparison.layout import ABSENT
from benchrunner.studies.study import Result
from benchrunner.study_files.entries import Entry
from benchrunner.study_files.file_statistics import FileStatistics, file_statistics
from benchrunner.study_files.study_file import Column, StudyFile, System

if TYPE_CHECKING:
    from rich.table import Table


@final
@dataclass(frozen=True)
class StudyFileResult:
    """A finished study file."""

    study: StudyFile
    """The study with the columns that were asked for."""
    entries: Mapping[tuple[str, str], Entry]
    """System and column, by name -> the figure."""
    results: tuple[Result, ...]
    """The studies that the entries were taken from, after those of first stages."""
    submissions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """System -> words of the benchrunner command that writes its submission to the study's leaderboard."""
    name: str = ""
    """Name under which the study is kept in the runs folder."""

    @cached_property
    def statistics(self) -> FileStatistics:
        """Intervals of the figures, and tests of every system against the first; computed on first use."""
        return file_statistics(self.study, self.entries, self.results)

    @property
    def is_complete(self) -> bool:
        """Whether every fit finished and has scores."""
        return all(result.is_complete for result in self.results)


def as_table(result: StudyFileResult) -> Table:
    """Lay out systems as rows; the interval and a published figure stand below the measured figure.

    Rows that are only published come last.
    """
    from rich.markup import escape
    from rich.table import Table

    study, table = result.study, Table(show_lines=True)
    table.add_column("system")
    for column in study.columns:
        where = f"\n[dim]paper: {escape(column.published_on)}[/dim]" if column.published_on else ""
        table.add_column(escape(column.name) + where, justify="right")
    for system in study.systems:
        intervals = [_interval(result, system, column) for column in study.columns]
        published = f"[dim]paper: {escape(system.published)}[/dim]" if system.published else ""
        lines = [(escape(system.name), "", published)]
        for column, interval in zip(study.columns, intervals, strict=True):
            published = _shown_published(study, system.published_name, column)
            lines.append((figure_text(result, system, column), interval, published))
        table.add_row(*(_cell(figure, interval, published, any(intervals)) for figure, interval, published in lines))
    for row in study.published_alone:
        figures = (_shown_published(study, row.name, column) or ABSENT for column in study.columns)
        table.add_row(f"[dim]paper: {escape(row.name)}[/dim]", *figures)
    return table


def _cell(figure: str, interval: str, published: str, has_intervals: bool) -> str:
    """Put a figure, its interval and a published figure below each other, each in one line with the row's others."""
    lines = (figure, interval, published) if has_intervals else (figure, published)
    if not any(lines):
        return ABSENT
    return "\n".join(lines).rstrip("\n") if figure else published


def _interval(result: StudyFileResult, system: System, column: Column) -> str:
    from rich.markup import escape

    return escape(result.statistics.interval_shown((system.name, column.name)))


def figure_text(result: StudyFileResult, system: System, column: Column) -> str:
    """Write a figure with deviation, number of restarts and mark of a clear difference; nothing if there is none."""
    place = (system.name, column.name)
    entry = result.entries.get(place)
    return "" if entry is None else " ".join([entry.as_text(), result.statistics.mark(place)]).rstrip()


def _shown_published(study: StudyFile, row: str, column: Column) -> str:
    """Write a published figure so that nobody takes it for a measured one; empty if there is none."""
    figure = study.published_figure(row, column.name)
    return "" if figure is None else f"[dim]paper {figure:.{_decimals(column)}f}[/dim]"


def _decimals(column: Column) -> int:
    return 2 if column.figure else 1


def footnotes(result: StudyFileResult) -> Iterator[str]:
    """Yield what the table cannot show. A note that holds in several places is yielded once, with all of the places."""
    study = result.study
    if study.about:
        yield " ".join(study.about.split())
    if study.scale.about:
        yield f"scale {study.scale.name}: {' '.join(study.scale.about.split())}"
    for source, systems in _sources(study).items():
        yield f"paper{f' ({systems})' if systems else ''}: {source}"
    shown = {column.name for column in study.columns}
    yield from (f"paper, {row.name}: {row.notes}" for row in study.published if row.notes and shown & row.cells.keys())
    for column in study.columns:
        if column.note:
            yield f"{column.name}: {column.note}"
    yield from result.statistics.notes()
    yield from _presets(result)
    for name, words in result.submissions.items():
        yield f"submission of {name}, without fitting again: benchrunner {shlex.join(words)}"
    places: dict[str, dict[str, list[str]]] = {}  # note -> column -> systems
    for column in (column for column in study.columns if column.is_measured):
        for system in study.systems:
            for note in _notes(result.entries[system.name, column.name]):
                places.setdefault(note, {}).setdefault(column.name, []).append(system.name)
    for note, systems_of in places.items():
        yield f"{_where(systems_of, all_systems=len(study.systems))}: {note}"


def _presets(result: StudyFileResult) -> Iterator[str]:
    """Yield which named recipes fits used, each with the backbones that it was used for."""
    backbones_of: dict[str, dict[str, None]] = {}
    for part in result.results:
        if part.study.preset is not None:
            backbones_of.setdefault(preset_note(part.study.preset), {}).update(dict.fromkeys(part.study.backbones))
    for note, backbones in backbones_of.items():
        yield f"{', '.join(backbones)}: {note}"


def _sources(study: StudyFile) -> dict[str, str]:
    """Map each source of the published figures to its rows; the study's own source names no rows."""
    rows: dict[str, list[str]] = {}
    columns = {column.name for column in study.columns}
    for row in study.published:
        if columns & row.cells.keys():
            rows.setdefault(row.source, []).append(row.name)
    return {source: "" if source == study.source else ", ".join(names) for source, names in rows.items() if source}


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
        finished = len(entry.members or entry.restarts)
        yield from (f"{flag} in {count} of {finished} restart(s)" for flag, count in entry.cell.flagged.items())
        yield from entry.cell.notes


def as_json(result: StudyFileResult) -> dict[str, Any]:
    """Return everything that the table shows, and the results behind it, as JSON values."""
    study = result.study
    return {
        "kept_as": result.name,
        "study": study.name,
        "file": str(study.path),
        "title": study.title,
        "source": study.source,
        "scale": study.scale.name,
        "parameters": dict(study.values),
        "systems": [
            {
                "name": system.name,
                "backbone": system.backbone,
                "method": system.method,
                "first": system.first.task if system.first is not None else None,
                "make": [list(words) for words in system.make],
                "figures": str(system.figures) if system.figures is not None else None,
                "published": system.published_name,
            }
            for system in study.systems
        ],
        "columns": [_column_json(column) for column in study.columns],
        "cells": [
            _entry_json(result, system, column)
            for system in study.systems
            for column in study.columns
            if column.is_measured
        ],
        "comparisons": result.statistics.comparisons_json(),
        "axis": study.axis or None,
        "series": list(_series(result)),
        "published": [
            {"system": row.name, "source": row.source, "cells": dict(row.cells), "notes": row.notes}
            for row in study.published
        ],
        "submissions": {system: list(words) for system, words in result.submissions.items()},
        "results": [json_values.as_json(part) for part in result.results],
        "notes": list(footnotes(result)),
    }


def _series(result: StudyFileResult) -> Iterator[dict[str, Any]]:
    """Yield each line of a figure, as lists that a plot can draw: a line for each column and each series of systems."""
    systems = [system for system in result.study.systems if system.at is not None]
    for column in (column for column in result.study.columns if column.is_measured):
        for series in dict.fromkeys(system.series for system in systems):
            points = sorted(
                (system for system in systems if system.series == series), key=lambda system: system.at or 0
            )
            entries = [result.entries[system.name, column.name] for system in points]
            yield {
                "column": column.name,
                "series": series,
                "at": [system.at for system in points],
                "mean": [entry.mean for entry in entries],
                "deviation": [entry.deviation for entry in entries],
                "restarts": [list(entry.restarts) for entry in entries],
            }


def _column_json(column: Column) -> dict[str, Any]:
    source = {"task": column.task or None, "split": column.split, "metric": column.metric, "method": column.method}
    others = {"figure": column.figure or None, "mean": list(column.mean), "recipe": dict(column.recipe)}
    return {"name": column.name, **source, **others, "published_on": column.published_on or None}


def _entry_json(result: StudyFileResult, system: System, column: Column) -> dict[str, Any]:
    entry = result.entries[system.name, column.name]
    selected = entry.cell.selected if entry.cell is not None else None
    interval = result.statistics.intervals.get((system.name, column.name))
    return {
        "system": system.name,
        "column": column.name,
        "mean": entry.mean,
        "deviation": entry.deviation,
        "restarts": list(entry.restarts),
        "interval_over_examples": None if interval is None else interval.as_json(),
        "best_on_dev": entry.best,
        "together": list(entry.members),
        "published": result.study.published_figure(system.published_name, column.name),
        "selected": selected.id if selected is not None else None,
        **(json_values.selection_json(entry.cell.cell) if entry.cell is not None else {}),
        "reason": entry.reason or None,
    }
