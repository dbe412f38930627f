"""Results of studies as JSON values: everything that the table shows, and the fits behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchrunner.io.decoding import as_json as plain_json
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.cells import CellResult
from benchrunner.studies.comparison.caption import NOTHING_PUBLISHED, remarks
from benchrunner.studies.comparison.conclusions import conclusions
from benchrunner.studies.comparison.layout import task_rows
from benchrunner.studies.result import Result
from benchrunner.studies.study import Column, Study, System
from benchrunner.tasks.task import Term


def as_json(result: Result, published: PublishedChoice = NOTHING_PUBLISHED) -> dict[str, Any]:
    """Return everything that the table shows, and the fits behind it, as JSON values.

    The key `figures` has the figures of the table, on its scale; `cells` has the scores of the fits behind them. The
    key `published` has the published figures of leaderboards, each with the figure of ours that it stands beside, and
    the published rows of a study file.
    """
    study, statistics = result.study, result.statistics
    content = {
        "kept_as": result.name,
        **_study_json(study),
        "figures": list(_figures(result)),
        "cells": [_cell_json(cell, result) for cell in result.cells],
        "majority": [_term(term) | {"score": score} for term, score in result.baseline.items()],
        "averages": {system: _averages_json(result, system) for system in study.names},
        "comparisons": list(_comparisons(result)),
        "conclusion": " ".join(conclusions(result)) if statistics.tests else "",
        "series": list(series(result)),
        "computing": result.computing,
        "published": list(_published(result, published)),
        "submissions": {system: list(words) for system, words in result.submissions.items()},
        "notes": list(remarks(result, published)),
    }
    values: dict[str, Any] = plain_json(content)
    return values


def _study_json(study: Study) -> dict[str, Any]:
    fitting = study.fitting
    preset = None if fitting is None else fitting.preset
    return {
        "study": study.name or None,
        "file": None if study.path is None else str(study.path),
        "title": study.title or None,
        "source": study.source or None,
        "scale": study.scale.name,
        "parameters": dict(study.values),
        "axis": study.axis or None,
        "systems": [_system_json(system) for system in study.systems],
        "columns": [_column_json(column) for column in study.columns],
        "backbones": list(study.backbones),
        "methods": list(study.methods),
        "seeds": None if fitting is None else list(fitting.seeds),
        "limit_dev": None if fitting is None else fitting.limit_dev,
        "recipe": preset,
    }


def _system_json(system: System) -> dict[str, Any]:
    return {
        "name": system.name,
        "backbone": system.backbone,
        "method": system.method,
        "first": system.first.task if system.first is not None else None,
        "make": [list(words) for words in system.make],
        "figures": str(system.figures) if system.figures is not None else None,
        "published": system.published_name,
    }


def _column_json(column: Column) -> dict[str, Any]:
    source = {"task": column.task or None, "split": column.split, "metric": column.metric, "method": column.method}
    others = {"figure": column.figure or None, "mean": list(column.mean), "recipe": dict(column.recipe)}
    return {"name": column.name, **source, **others, "published_on": column.published_on or None}


def _figures(result: Result) -> Iterator[dict[str, Any]]:
    """Yield the figures of the table, on its scale."""
    names = {system.name: system.published_name for system in result.study.systems}
    for (system, column), figure in result.figures.items():
        cell, interval = result.cell_at.get((system, column)), result.statistics.intervals.get((system, column))
        selected = None if cell is None or cell.selected is None else cell.selected.id
        ends = None if interval is None else [figure.shown(interval.low), figure.shown(interval.high)]
        yield {
            "system": system,
            "column": column,
            "mean": figure.shown(figure.mean.value),
            "deviation": figure.shown(figure.deviation),
            "restarts": [figure.shown(value) for value in figure.values],
            "interval_over_examples": ends,
            "best_on_dev": figure.shown(figure.best.value),
            "together": list(figure.members),
            "published": result.study.published_figure(names[system], column),
            "selected": selected,
            **(_selection_json(cell) if cell is not None else {}),
            "reason": figure.mean.reason or None,
        }


def _term(term: Term) -> dict[str, str]:
    return {"task": term.task, "split": term.split, "metric": term.metric}


def _cell_json(result: CellResult, study: Result) -> dict[str, Any]:
    cell, columns = result.cell, study.columns_of(result)
    intervals, trials = study.statistics.intervals, study.statistics.trials
    scores, expected = list[dict[str, Any]](), list[dict[str, Any]]()
    for term, figure in result.figures.items():
        place = (cell.system, columns.get(term, ""))
        scores.append(
            _term(term)
            | {
                "best_on_dev": figure.best,
                "mean": figure.mean,
                "deviation": figure.deviation,
                "restarts": list(figure.values),
                "interval_over_examples": intervals.get(place),
                "interval_over_restarts": figure.over_restarts,
            }
        )
        if place in trials:
            expected.append(_term(term) | {"of_trials": list(trials[place])})
    return {
        "system": cell.system,
        "columns": list(cell.columns),
        "backbone": cell.backbone,
        "task": cell.task.name,
        "method": next(cell.fits).method,
        "selected": result.selected.id if result.selected else None,
        **_selection_json(result),
        "recipe": result.chosen.as_dict() if result.chosen else None,
        "scores": scores,
        "expected_best": expected,
        "flags": dict(result.flagged),
        "lost": dict(result.lost),
        "fits": [{"id": fit.id, "seed": fit.seed, "recipe": fit.recipe.as_dict()} for fit in cell.fits],
    }


def _selection_json(result: CellResult) -> dict[str, Any]:
    """Return what selects in a cell, as JSON values."""
    selection, task = result.cell.selection, result.cell.task
    return {
        "select": selection.rule,
        "selected_by": selection.metric_of(task),
        "selected_on": list(selection.splits_of(task)),
    }


def _averages_json(result: Result, system: str) -> dict[str, Any]:
    return {name: {"best_on_dev": best, "mean": mean} for name, (best, mean) in result.averages(system).items()}


def _comparisons(result: Result) -> Iterator[dict[str, Any]]:
    """Yield the tests of systems against the first of each column."""
    columns = {column.name: column for column in result.study.columns}
    for (system, column), test in result.statistics.tests.items():
        term = columns[column].term(result.cell_at[system, column].cell.task)
        names = {"system": system, "with": result.statistics.firsts[column], "column": column}
        yield {**names, **_term(term), **test.as_json()}


def series(result: Result) -> Iterator[dict[str, Any]]:
    """Yield each line of a figure, as lists that a plot can draw: a line for each column and each series of systems."""
    systems = sorted((system for system in result.study.systems if system.at is not None), key=lambda one: one.at or 0)
    names = dict.fromkeys(system.series for system in result.study.systems if system.at is not None)
    for column in result.study.columns:
        for name in names if column.is_measured else ():
            points = [system for system in systems if system.series == name]
            figures = [result.figures[system.name, column.name] for system in points]
            yield {
                "column": column.name,
                "series": name,
                "at": [system.at for system in points],
                "mean": [figure.shown(figure.mean.value) for figure in figures],
                "deviation": [figure.shown(figure.deviation) for figure in figures],
                "restarts": [list(map(figure.shown, figure.values)) for figure in figures],
            }


def _published(result: Result, published: PublishedChoice) -> Iterator[dict[str, Any]]:
    for row in result.study.published:
        yield {"system": row.name, "source": row.source, "cells": dict(row.cells), "notes": row.notes}
    for line in () if result.study.systems_down else task_rows(result, published):
        for figure in line.published:
            yield figure.as_json() | {"beside": dict(line.beside)}
