"""The answers of a cell's fits with the gold answers, which intervals and tests are computed from."""

from __future__ import annotations

from benchrunner.errors import Undefined
from benchrunner.metrics import ANSWERS, gold_rows
from benchrunner.runs.predicting import extra_figures
from benchrunner.statistics.scored_answers import ScoredAnswers, cluster_numbers
from benchrunner.studies.cells import CellResult
from benchrunner.tasks.task import Term


def scored_answers(cell: CellResult, term: Term) -> list[ScoredAnswers]:
    """Return the answers of all restarts at the chosen grid point, with the gold answers."""
    if cell.runner is None or cell.predictions is None:
        raise Undefined("the result has no runner, so that answers cannot be read")
    task, runner = cell.cell.task, cell.runner
    metric = task.metric(term.metric)
    rows = runner.planner.rows(task, term.split)
    gold = task.problem.gold(rows.table)
    if gold is None:
        raise Undefined(f"{rows.origin} has no labels")
    right = gold_rows(metric, gold, rows.table)
    clusters = None
    if task.clusters in rows.table.column_names:
        clusters = cluster_numbers(rows.table.column(task.clusters).to_pylist())
    scored = []
    for fit in cell.restarts:
        if metric.computed_from == ANSWERS:
            answers = cell.predictions.predict(fit, term.split).answers
        else:
            answers = extra_figures(fit, rows, runner)[metric.computed_from]
        if len(answers) != len(right):
            raise Undefined(f"{rows.origin} has {len(right)} rows now, and the fit {fit.id} answered {len(answers)}")
        scored.append(ScoredAnswers(metric, right, answers, clusters, max(1, fit.folds)))
    return scored
