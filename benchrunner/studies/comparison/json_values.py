"""Results of studies as JSON values: everything that the table shows, and the fits behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchrunner.io.json_form import as_json as plain_json
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.cells import CellResult
from benchrunner.studies.codes import coded_warnings
from benchrunner.studies.comparison.facts import facts
from benchrunner.studies.comparison.layout import NOTHING_PUBLISHED, task_rows
from benchrunner.studies.result import Result
from benchrunner.studies.study import Study


def as_json(result: Result, published: PublishedChoice = NOTHING_PUBLISHED) -> dict[str, Any]:
    """Return everything that the table shows, and the fits behind it, as JSON values.

    The key `figures` has the figures of the table, on its scale; `cells` has the scores of the fits behind them. The
    key `published` has the published figures of leaderboards, each with the figure of ours that it stands beside, and
    the published rows of a study file.
    """
    said = list(facts(result, published))
    warnings = [
        {"code": fact.code, "text": fact.text if fact.kind == "note" else fact.line}
        for fact in said
        if fact.code and fact.kind != "cost"
    ]
    majority = [{**vars(term), "score": score} for term, score in result.baseline.items()]
    content = {
        "kept_as": result.name,
        **_study_json(result.study),
        "figures": list(_figures(result)),
        "cells": [_cell_json(cell, result) for cell in result.cells],
        "majority": majority,
        "averages": {system: _averages_json(result, system) for system in result.study.names},
        "comparisons": list(_comparisons(result)),
        "mean_ranks": result.statistics.mean_ranks,
        "conclusion": " ".join(fact.line for fact in said if fact.kind == "conclusion"),
        "series": list(result.statistics.series(result)),
        "computing": result.computing,
        "costs": result.costs,
        "published": list(_published(result, published)),
        "submissions": result.submissions,
        "notes": [fact.line for fact in said],
        "warnings": warnings,
    }
    values: dict[str, Any] = plain_json(content)
    return values


def _study_json(study: Study) -> dict[str, Any]:
    fitting = study.fitting
    return {
        "study": study.name or None,
        "file": study.path,
        "title": study.title or None,
        "source": study.source or None,
        "scale": study.scale.name,
        "parameters": study.values,
        "axis": study.axis or None,
        "systems": study.systems,
        "arms": study.arms,
        "columns": study.columns,
        "contrasts": study.contrasts,
        "margin": study.margin,
        "backbones": study.backbones,
        "methods": study.methods,
        "seeds": None if fitting is None else fitting.seeds,
        "limit_dev": study.limit_dev,
        "looks": study.looks,
        "recipe": None if fitting is None else fitting.preset,
    }


def _figures(result: Result) -> Iterator[dict[str, Any]]:
    """Yield the figures of the table, on its scale."""
    published_names = {system.name: system.published_name for system in result.study.systems}
    for entry in result.entries.values():
        figure, ranks = entry.figure, entry.ranks
        name = published_names.get(entry.system, entry.system)
        yield {
            "system": entry.system,
            "column": entry.column,
            **entry.shown(),
            "ranks": None if ranks is None else [ranks.low, ranks.high],
            "best_on_dev": figure.shown(figure.best.value),
            "together": figure.members,
            "published": result.study.published_figure(name, entry.column),
            **({"selected": None} if entry.cell is None else _selection_json(entry.cell)),
            "reason": figure.mean.reason or None,
        }


def _cell_json(result: CellResult, study: Result) -> dict[str, Any]:
    cell = result.cell
    scores = []
    expected = []
    fits = []
    for entry in study.entries_of(result):
        figure = entry.figure
        score = {
            **vars(entry.term),
            "best_on_dev": figure.best,
            "mean": figure.mean,
            "deviation": figure.deviation,
            "restarts": figure.values,
            "interval_over_examples": entry.interval,
            "interval_over_restarts": figure.over_restarts,
        }
        scores.append(score)
        if entry.expected is not None:
            expected.append({**vars(entry.term), "of_trials": entry.expected})
    for fit in cell.fits:
        fits.append({"id": fit.id, "seed": fit.seed, "recipe": fit.recipe.as_dict()})
    return {
        "system": cell.system,
        "columns": cell.columns,
        "backbone": cell.backbone,
        "task": cell.task.name,
        "method": next(cell.fits).method,
        **_selection_json(result),
        "recipe": result.chosen.as_dict() if result.chosen else None,
        "scores": scores,
        "expected_best": expected,
        "flags": result.flagged,
        "warnings": coded_warnings(result.warnings),
        "lost": result.lost,
        "fits": fits,
    }


def _selection_json(result: CellResult) -> dict[str, Any]:
    """Return the selected fit of a cell, and what selects, as JSON values."""
    selection, task = result.cell.selection, result.cell.task
    return {
        "selected": result.selected.id if result.selected else None,
        "select": selection.rule,
        "selected_by": selection.metric_of(task),
        "selected_on": selection.splits_of(task),
    }


def _averages_json(result: Result, system: str) -> dict[str, Any]:
    return {name: {"best_on_dev": best, "mean": mean} for name, (best, mean) in result.averages(system).items()}


def _comparisons(result: Result) -> Iterator[dict[str, Any]]:
    """Yield the tests between systems or arms."""
    columns = {column.name: column for column in result.study.columns}
    for (system, other, column), test in result.statistics.tests.items():
        yield {
            "system": system,
            "with": other,
            "column": column,
            **vars(columns[column].term(result.cell_at[result.study.members(system)[0], column].cell.task)),
            **test.as_json(),
        }


def _published(result: Result, published: PublishedChoice) -> Iterator[dict[str, Any]]:
    """Yield the published rows of a study file, then the figures that stand beside ours."""
    for row in result.study.published:
        yield {"system": row.name, "source": row.source, "cells": row.cells, "notes": row.notes}
    if not result.study.systems_down:
        for line in task_rows(result, published):
            for figure in line.published:
                yield {**figure.as_json(), "beside": line.beside}
