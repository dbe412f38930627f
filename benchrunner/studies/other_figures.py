"""Figures of a study that do not follow from the scores of fits: of ensembles, and of logs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchrunner.errors import FitError, RequestError, first_line
from benchrunner.runs.ensembles import answer_together
from benchrunner.studies.cells import CellResult, Figure
from benchrunner.studies.study import Place, Study, System
from benchrunner.tasks.task import Term
from benchrunner.training import step_log

LOG_DECIMALS = 2
"""Digits after the point of figures of logs, such as losses."""


def other_figures(study: Study, cells: Iterable[CellResult]) -> dict[Place, Figure]:
    """Compute the figures that do not follow from the scores of fits: of ensembles, and of logs."""
    systems = {system.name: system for system in study.systems}
    columns = {column.name: column for column in study.columns}
    figures = {}
    for result in cells:
        cell = result.cell
        if systems[cell.system].ensemble:
            for name in cell.columns:
                figures[cell.system, name] = _of_ensemble(result, columns[name].term(cell.task))
    for column in study.columns:
        if column.figure:
            for system in study.systems:
                figures[system.name, column.name] = _of_log(system, column.figure)
    return figures


def _of_ensemble(cell: CellResult, term: Term) -> Figure:
    """Return the figure of a task's metric if the finished restarts of the chosen grid point answer together."""
    task, members, runner = cell.cell.task, cell.restarts, cell.runner
    if not members or runner is None:
        return Figure.absent("no fit finished")
    try:
        together = answer_together(members, task, runner.planner.rows(task, term.split), runner)
    except (FitError, RequestError) as error:
        return Figure.absent(first_line(error))
    score = together.scores[term.metric]
    if score.value is None:
        return Figure.absent(score.reason)
    figure = Figure.single(score.value).measured_by(task.metric(term.metric))
    return replace(figure, members=tuple(fit.id for fit in members))


def _of_log(system: System, key: str) -> Figure:
    """Return the figure of the log that building a system leaves: the last line with the key counts."""
    if system.figures is None:
        return Figure.absent("the study names no log of this system")
    if not system.figures.is_file():
        return Figure.absent(f"there is no file {system.figures}")
    figure = None
    for line in step_log.read(system.figures):
        if type(line.get(key)) in (int, float):
            figure = float(line[key])
    if figure is None:
        return Figure.absent(f"{system.figures} has no '{key}'")
    return replace(Figure.single(figure), decimals=LOG_DECIMALS)
