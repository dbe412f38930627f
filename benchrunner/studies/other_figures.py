"""Figures that do not follow from the scores of fits: of ensembles, and of the logs that building a system leaves."""

from __future__ import annotations

from collections.abc import Iterable

from benchrunner.errors import FitError, RequestError, first_line
from benchrunner.runs.answering import Ensemble, answer_together
from benchrunner.studies.cells import CellResult, Figure
from benchrunner.studies.study import Place, Study, System
from benchrunner.tasks.task import Term
from benchrunner.training import step_log

LOG_DECIMALS = 2
"""Digits after the point of figures of logs, such as losses."""


def other_figures(study: Study, cells: Iterable[CellResult]) -> dict[Place, Figure]:
    """Compute the figures of ensembles, and read those of logs."""
    systems = {system.name: system for system in study.systems}
    columns = {column.name: column for column in study.columns}
    figures = dict[Place, Figure]()
    for cell in cells:
        for name in cell.cell.columns if systems[cell.cell.system].ensemble else ():
            figures[cell.cell.system, name] = _of_ensemble(cell, columns[name].term(cell.cell.task))
    for column in study.columns:
        for system in study.systems if column.figure else ():
            figures[system.name, column.name] = _of_log(system, column.figure)
    return figures


def _of_ensemble(cell: CellResult, term: Term) -> Figure:
    """Return the figure of a task's metric if the finished restarts of the chosen grid point answer together."""
    task, members, runner = cell.cell.task, cell.restarts, cell.runner
    if not members or runner is None:
        return Figure.absent("no fit finished")
    try:
        score = answer_together(Ensemble(members), task, runner.planner.rows(task, term.split), runner).scores[
            term.metric
        ]
    except (FitError, RequestError) as error:
        return Figure.absent(first_line(error))
    if score.value is None:
        return Figure.absent(score.reason or "")
    scale = next(metric.scale for metric in task.metrics if metric.name == term.metric)
    return Figure.single(score.value, scale=scale, members=tuple(fit.id for fit in members))


def _of_log(system: System, key: str) -> Figure:
    """Return the figure of the log of building a system: the last line with the key counts."""
    if system.figures is None:
        return Figure.absent("the study names no log of this system")
    if not system.figures.is_file():
        return Figure.absent(f"there is no file {system.figures}")
    figures = [line[key] for line in step_log.read(system.figures) if type(line.get(key)) in (int, float)]
    if not figures:
        return Figure.absent(f"{system.figures} has no '{key}'")
    return Figure.single(float(figures[-1]), decimals=LOG_DECIMALS)
