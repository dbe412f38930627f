"""Results of studies as terminal tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from benchrunner.metrics import Score
from benchrunner.studies.study import Cell, CellResult, Result, Spread, Study
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task

if TYPE_CHECKING:
    from rich.table import Table

ABSENT = "-"


def as_table(result: Result) -> Table:
    """Lay out tasks as rows and backbones as columns: for each backbone the best score on dev and the mean."""
    from rich.markup import escape
    from rich.table import Table

    study = result.study
    table = Table(title="dev", title_justify="left")
    table.add_column("task")
    table.add_column("metric")
    table.add_column("majority", justify="right")
    for backbone in study.backbones:
        table.add_column(f"{escape(backbone)}\nbest on dev", justify="right", overflow="fold")
        table.add_column(f"\nmean ± sd ({len(study.seeds)})", justify="right")
    for task in study.tasks:
        for split in task.named("dev"):
            for metric in (metric for metric in task.metrics if not metric.detail):
                term = Term(task.name, split, metric.name)
                cells = [_cells(result.of(backbone, task.name), term, metric.scale) for backbone in study.backbones]
                baseline = figure(result.baseline[term], metric.scale)
                table.add_row(escape(_row_name(task, split, study)), metric.name, baseline, *chain.from_iterable(cells))
    table.add_section()
    averages = [result.averages(backbone) for backbone in study.backbones]
    for name in averages[0]:
        values = [value for average in averages for value in average[name]]
        if any(value is not None for value in values):  # skip averages over tasks that are not in the study
            table.add_row(escape(name), "", "", *(figure(Score(value), 100.0) for value in values))
    return table


def _row_name(task: Task, split: str, study: Study) -> str:
    name = f"{task.name} ({split})" if len(task.named("dev")) > 1 else task.name
    return f"{name} by {task.method}" if task.method_reason and study.method is None else name


def footnotes(result: Result) -> Iterator[str]:
    """Yield what the table cannot show: default methods that learn nothing, flags, lost fits, absent scores, notes."""
    for task in result.study.tasks:
        if task.method_reason and result.study.method is None:
            yield f"{task.name} is answered by '{task.method}': {task.method_reason}"
    for cell in result.cells:
        where = f"{cell.cell.backbone} on {cell.cell.task.name}"
        for flag, count in cell.flagged.items():
            yield f"{where}: {flag} in {count} of {len(result.study.seeds)} restart(s)"
        for fit, reason in cell.lost.items():
            yield f"{where}: fit {fit} has no scores: {reason}"
        for term, spread in cell.spreads.items():
            if spread.best.value is None:
                yield f"{where}: {term.metric} on {term.split} is absent: {spread.best.reason}"
    yield from _notes(result)


def _notes(result: Result) -> Iterator[str]:
    """Yield each note once, with the backbones that it is about unless it is about all of them."""
    backbones_of: dict[tuple[str, str], list[str]] = {}
    for cell in result.cells:
        for note in cell.notes:
            backbones_of.setdefault((cell.cell.task.name, note), []).append(cell.cell.backbone)
    for (task, note), backbones in backbones_of.items():
        everywhere = len(set(backbones)) == len(result.study.backbones)
        yield f"{task}: {note}" if everywhere else f"{', '.join(dict.fromkeys(backbones))} on {task}: {note}"


def figure(score: Score | None, scale: float) -> str:
    """Write a score with one decimal, or `ABSENT`."""
    if score is None or score.value is None:
        return ABSENT
    return f"{score.value * scale:.1f}"


def _cells(result: CellResult, term: Term, scale: float) -> list[str]:
    spread = result.spreads.get(term)
    if spread is None:
        return [ABSENT, ABSENT]
    mean = figure(spread.mean, scale)
    if spread.deviation is not None:
        mean += f" ± {spread.deviation * scale:.1f}"
    return [figure(spread.best, scale), mean]


def as_json(result: Result) -> dict[str, Any]:
    """Return everything that the table shows, and the fits behind it, as JSON values."""
    return {
        "backbones": list(result.study.backbones),
        "seeds": list(result.study.seeds),
        "cells": [_cell_json(cell) for cell in result.cells],
        "majority": [_term(term) | {"score": score.as_json()} for term, score in result.baseline.items()],
        "averages": {
            backbone: {
                name: {"best_on_dev": best, "mean": mean} for name, (best, mean) in result.averages(backbone).items()
            }
            for backbone in result.study.backbones
        },
        "notes": list(footnotes(result)),
    }


def _term(term: Term) -> dict[str, str]:
    return {"task": term.task, "split": term.split, "metric": term.metric}


def _cell_json(result: CellResult) -> dict[str, Any]:
    task: Task = result.cell.task
    return {
        "backbone": result.cell.backbone,
        "task": task.name,
        "method": next(result.cell.fits).method,
        "selected": result.selected.id if result.selected else None,
        **selection_json(result.cell),
        "recipe": result.chosen.as_dict() if result.chosen else None,
        "scores": [_term(term) | _spread_json(spread) for term, spread in result.spreads.items()],
        "flags": dict(result.flagged),
        "lost": dict(result.lost),
        "fits": [{"id": fit.id, "seed": fit.seed, "recipe": fit.recipe.as_dict()} for fit in result.cell.fits],
    }


def selection_json(cell: Cell) -> dict[str, Any]:
    """Return what selects in a cell, as JSON values."""
    selection, task = cell.selection, cell.task
    return {
        "select": selection.rule,
        "selected_by": selection.metric_of(task),
        "selected_on": list(selection.splits_of(task)),
    }


def _spread_json(spread: Spread) -> dict[str, Any]:
    return {
        "best_on_dev": spread.best.as_json(),
        "mean": spread.mean.as_json(),
        "deviation": spread.deviation,
        "restarts": list(spread.values),
    }
