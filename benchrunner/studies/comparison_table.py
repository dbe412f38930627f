"""A study's result as a terminal table, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any

from benchrunner.metrics import Score
from benchrunner.studies.study import CellResult, Result, Spread
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task

if TYPE_CHECKING:
    from rich.table import Table

ABSENT = "-"


def comparison(result: Result) -> Table:
    """Tasks down, backbones across; two columns a backbone, since the best on dev is not what to expect."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="dev", title_justify="left")
    table.add_column("task")
    table.add_column("metric")
    table.add_column("majority", justify="right")
    for backbone in result.study.backbones:
        table.add_column(f"{escape(backbone)}\nbest on dev", justify="right", overflow="fold")
        table.add_column(f"\nmean ± sd ({len(result.study.seeds)})", justify="right")
    for task in result.study.tasks:
        several = len(task.named("dev")) > 1
        for split in task.named("dev"):
            for metric in (one for one in task.metrics if not one.detail):
                term = Term(task.name, split, metric.name)
                name = f"{task.name} ({split})" if several else task.name
                if task.method_reason and result.study.method is None:
                    name += f" by {task.method}"
                cells = [_cells(result.of(one, task.name), term, metric.scale) for one in result.study.backbones]
                table.add_row(
                    escape(name), metric.name, figure(result.baseline[term], metric.scale), *chain.from_iterable(cells)
                )
    table.add_section()
    averages = [result.averages(one) for one in result.study.backbones]
    for name in averages[0]:
        values = [value for one in averages for value in one[name]]
        if any(value is not None for value in values):  # an average over other tasks than were asked for says nothing
            table.add_row(escape(name), "", "", *(figure(Score(value), 100.0) for value in values))
    return table


def footnotes(result: Result) -> Iterator[str]:
    """What the table cannot say: default methods that are no learning, flags, losses, absences, odd data."""
    for task in result.study.tasks:
        if task.method_reason and result.study.method is None:
            yield f"{task.name} is answered by '{task.method}': {task.method_reason}"
    for one in result.cells:
        where = f"{one.cell.backbone} on {one.cell.task.name}"
        for flag, count in one.flagged.items():
            yield f"{where}: {flag} in {count} of {len(result.study.seeds)} restart(s)"
        for fit, reason in one.lost.items():
            yield f"{where}: fit {fit} has no scores: {reason}"
        for term, spread in one.spreads.items():
            if spread.best.value is None:
                yield f"{where}: {term.metric} on {term.split} is absent: {spread.best.reason}"
    yield from _notes(result)


def _notes(result: Result) -> Iterator[str]:
    """Each once, with whose it is unless it is every backbone's."""
    whose: dict[tuple[str, str], list[str]] = {}
    for one in result.cells:
        for note in one.notes:
            whose.setdefault((one.cell.task.name, note), []).append(one.cell.backbone)
    for (task, note), backbones in whose.items():
        everywhere = len(set(backbones)) == len(result.study.backbones)
        yield f"{task}: {note}" if everywhere else f"{', '.join(dict.fromkeys(backbones))} on {task}: {note}"


def figure(score: Score | None, scale: float) -> str:
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
    """Everything the table shows and what stands behind it."""
    return {
        "backbones": list(result.study.backbones),
        "seeds": list(result.study.seeds),
        "cells": [_cell_json(one) for one in result.cells],
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
        "selected_on": list(task.selection_splits),
        "recipe": result.chosen.as_dict() if result.chosen else None,
        "scores": [_term(term) | _spread_json(spread) for term, spread in result.spreads.items()],
        "flags": dict(result.flagged),
        "lost": dict(result.lost),
        "fits": [{"id": fit.id, "seed": fit.seed, "recipe": fit.recipe.as_dict()} for fit in result.cell.fits],
    }


def _spread_json(spread: Spread) -> dict[str, Any]:
    return {
        "best_on_dev": spread.best.as_json(),
        "mean": spread.mean.as_json(),
        "deviation": spread.deviation,
        "restarts": list(spread.values),
    }
