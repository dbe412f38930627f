"""Results of studies as JSON values: everything that the table shows, and the fits behind it."""

from __future__ import annotations

from typing import Any

from benchrunner.io import decoding
from benchrunner.leaderboards.published_choice import PublishedChoice
from benchrunner.studies.comparison.caption import NOTHING_PUBLISHED, Computing, gathered, remarks
from benchrunner.studies.comparison.conclusions import conclusion
from benchrunner.studies.comparison.layout import comparison_rows
from benchrunner.studies.study import Cell, CellResult, Result, Spread
from benchrunner.studies.study_statistics import StudyStatistics
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task


def as_json(
    result: Result,
    published: PublishedChoice = NOTHING_PUBLISHED,
    statistics: StudyStatistics | None = None,
    facts: Computing | None = None,
) -> dict[str, Any]:
    """Return everything that the table shows, and the fits behind it, as JSON values.

    The key `published` has the published figures, each with the figure of ours that it stands beside. Statistics that
    are not given are computed with the result's runner.
    """
    if statistics is None:
        statistics, facts = gathered(result)
    values: dict[str, Any] = decoding.as_json(
        {
            "kept_as": result.name,
            "backbones": list(result.study.names),
            "methods": list(result.study.methods),
            "seeds": list(result.study.seeds),
            "limit_dev": result.study.limit_dev,
            "recipe": result.study.preset,
            "cells": [_cell_json(cell, statistics) for cell in result.cells],
            "majority": [_term(term) | {"score": score} for term, score in result.baseline.items()],
            "averages": {
                backbone: {
                    name: {"best_on_dev": best, "mean": mean}
                    for name, (best, mean) in result.averages(backbone).items()
                }
                for backbone in result.study.names
            },
            "comparisons": [
                {"backbone": backbone, "with": result.study.names[0], **_term(term), **test.as_json()}
                for (backbone, term), test in statistics.tests.items()
            ],
            "conclusion": conclusion(result, statistics) if statistics.tests else "",
            "computing": facts,
            "published": [
                figure.as_json() | {"beside": dict(row.beside)}
                for row in comparison_rows(result, statistics, published)
                for figure in row.published
            ],
            "notes": list(remarks(result, published, statistics, facts)),
        }
    )
    return values


def _term(term: Term) -> dict[str, str]:
    return {"task": term.task, "split": term.split, "metric": term.metric}


def _cell_json(result: CellResult, statistics: StudyStatistics) -> dict[str, Any]:
    task: Task = result.cell.task
    backbone = result.cell.backbone
    return {
        "backbone": backbone,
        "task": task.name,
        "method": next(result.cell.fits).method,
        "selected": result.selected.id if result.selected else None,
        **selection_json(result.cell),
        "recipe": result.chosen.as_dict() if result.chosen else None,
        "scores": [
            _term(term) | _spread_json(spread) | _intervals_json((backbone, term), statistics)
            for term, spread in result.spreads.items()
        ],
        "expected_best": [
            _term(term) | {"of_trials": list(values)}
            for (name, term), values in statistics.trials.items()
            if (name, term.task) == (backbone, task.name)
        ],
        "flags": dict(result.flagged),
        "lost": dict(result.lost),
        "fits": [{"id": fit.id, "seed": fit.seed, "recipe": fit.recipe.as_dict()} for fit in result.cell.fits],
    }


def _intervals_json(key: tuple[str, Term], statistics: StudyStatistics) -> dict[str, Any]:
    examples, restarts = statistics.examples.get(key), statistics.restarts.get(key)
    return {
        "interval_over_examples": examples,
        "interval_over_restarts": restarts,
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
        "best_on_dev": spread.best,
        "mean": spread.mean,
        "deviation": spread.deviation,
        "restarts": list(spread.values),
    }
