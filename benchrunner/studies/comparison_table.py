"""Results of studies as terminal tables and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from benchrunner.leaderboards.published import PublishedFigure
from benchrunner.leaderboards.published_choice import PublishedChoice, captions
from benchrunner.metrics import Score
from benchrunner.studies.study import Cell, CellResult, Result, Spread, Study
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task

if TYPE_CHECKING:
    from rich.table import Table

ABSENT = "-"
NOTHING_PUBLISHED = PublishedChoice()


@final
@dataclass(frozen=True)
class _Row:
    """One row of the table: a metric on a dev split, or an average."""

    name: str
    metric: str
    """Empty for an average."""
    baseline: str
    cells: tuple[tuple[str, str], ...]
    """For each backbone, the best score and the mean."""
    beside: Mapping[str, str]
    """What the row shows, as JSON: task, split and metric, or the name of an average."""
    published: Sequence[PublishedFigure]


def as_table(result: Result, published: PublishedChoice = NOTHING_PUBLISHED) -> Table:
    """Lay out tasks as rows and backbones as columns: for each backbone the best score on dev and the mean.

    Published figures stand in rows of their own below the row that measures the same.
    """
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table

    study, rows = result.study, list(_rows(result, published))
    reference = "majority,\npublished" if any(row.published for row in rows) else "majority"
    mean = f"mean ± sd ({len(study.seeds)})"
    width = max(len(mean), 12)
    table = Table(title="dev", title_justify="left")
    table.add_column("task", overflow="fold")
    table.add_column("metric", no_wrap=True)
    table.add_column(reference, justify="right", no_wrap=True)
    for backbone in study.backbones:
        header = f"{escape(backbone)}\n best {mean:>{width}}"
        table.add_column(header, justify="right", overflow="fold")
    for above, row in zip([None, *rows], rows, strict=False):
        if above is not None and above.metric and not row.metric:
            table.add_section()
        cells = (f"{best:>5} {mean:>{width}}" for best, mean in row.cells)
        table.add_row(escape(row.name), row.metric, row.baseline, *cells)
        for figure in row.published:
            name = Padding(escape(figure.row.name), (0, 0, 0, 2), expand=False)
            table.add_row(name, "", f"{figure.measures.kind} {figure.as_text()}", style="dim")
    return table


def _rows(result: Result, published: PublishedChoice) -> Iterator[_Row]:
    """Yield a row for every metric of every dev split, then a row for each average that has a value."""
    study = result.study
    for task in study.tasks:
        for split in task.named("dev"):
            for metric in (metric for metric in task.metrics if not metric.detail):
                term = Term(task.name, split, metric.name)
                yield _Row(
                    _row_name(task, split, study),
                    metric.name,
                    score_text(result.baseline[term], metric.scale),
                    tuple(_cells(result.of(backbone, task.name), term, metric.scale) for backbone in study.backbones),
                    _term(term),
                    published.beside_metric(task, split, metric.name),
                )
    averages = [result.averages(backbone) for backbone in study.backbones]
    suites = {task.suite.name for task in study.tasks if task.suite is not None}
    for name in averages[0]:
        pairs = [average[name] for average in averages]
        if any(value is not None for pair in pairs for value in pair):  # skip averages over tasks not in the study
            cells = tuple((score_text(Score(best), 100.0), score_text(Score(mean), 100.0)) for best, mean in pairs)
            yield _Row(name, "", "", cells, {"average": name}, published.beside_average(suites, name))


def _row_name(task: Task, split: str, study: Study) -> str:
    name = f"{task.name} ({split})" if len(task.named("dev")) > 1 else task.name
    return f"{name} by {task.method}" if task.method_reason and study.method is None else name


def footnotes(result: Result, published: PublishedChoice = NOTHING_PUBLISHED) -> Iterator[str]:
    """Yield what the table cannot show: default methods that learn nothing, flags, lost fits, absent scores, notes,
    and the sources of published figures.
    """
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
    shown = [figure for row in _rows(result, published) for figure in row.published]
    yield from captions(shown)
    yield from published.notes_on_missing(shown)


def _notes(result: Result) -> Iterator[str]:
    """Yield each note once, with the backbones that it is about unless it is about all of them."""
    backbones_of: dict[tuple[str, str], list[str]] = {}
    for cell in result.cells:
        for note in cell.notes:
            backbones_of.setdefault((cell.cell.task.name, note), []).append(cell.cell.backbone)
    for (task, note), backbones in backbones_of.items():
        everywhere = len(set(backbones)) == len(result.study.backbones)
        yield f"{task}: {note}" if everywhere else f"{', '.join(dict.fromkeys(backbones))} on {task}: {note}"


def score_text(score: Score | None, scale: float) -> str:
    """Write a score with one decimal, or `ABSENT`."""
    if score is None or score.value is None:
        return ABSENT
    return f"{score.value * scale:.1f}"


def _cells(result: CellResult, term: Term, scale: float) -> tuple[str, str]:
    spread = result.spreads.get(term)
    if spread is None:
        return ABSENT, ABSENT
    mean = score_text(spread.mean, scale)
    if spread.deviation is not None:
        mean += f" ± {spread.deviation * scale:.1f}"
    return score_text(spread.best, scale), mean


def as_json(result: Result, published: PublishedChoice = NOTHING_PUBLISHED) -> dict[str, Any]:
    """Return everything that the table shows, and the fits behind it, as JSON values.

    The key `published` has the published figures, each with the figure of ours that it stands beside.
    """
    return {
        "kept_as": result.name,
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
        "published": [
            figure.as_json() | {"beside": dict(row.beside)}
            for row in _rows(result, published)
            for figure in row.published
        ],
        "notes": list(footnotes(result, published)),
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
