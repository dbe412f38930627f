"""Commands that write submissions with the selected fits of a study, so that nothing is fitted again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import CellResult, Figure
from benchrunner.studies.study import Place, Study


def submit_commands(
    study: Study, cells: Iterable[CellResult], others: Mapping[Place, Figure], runner: Runner
) -> dict[str, tuple[str, ...]]:
    """Map each system to the words of the command that writes its submission to the study's leaderboard.

    Several columns of one task may select different fits: the first column counts. A system without a finished fit
    for any of the board's tasks has no command, and so has a system whose weights were not kept.
    """
    if study.board not in runner.plugins.leaderboards:
        return {}
    board = runner.plugins.leaderboards.find(study.board)
    wanted = {task for task, _ in board.wanted}
    runs = dict[str, dict[str, tuple[str, ...]]]()  # system -> task -> the runs that answer
    for cell in cells:
        task, fitting = cell.cell.task.name, cell.cell.fitting
        is_usable = fitting.keep != "none" and fitting.limit_dev is None  # few rows of dev select no submission
        answering = answering_runs(cell, others)
        if task in wanted and is_usable and answering:
            runs.setdefault(cell.cell.system, {}).setdefault(task, answering)
    commands = dict[str, tuple[str, ...]]()
    for system, of_tasks in runs.items():
        named = [run for members in of_tasks.values() for run in members]
        fill = ("--fill", "majority") if wanted - of_tasks.keys() else ()
        commands[system] = ("submit", board.name, "--ensemble", *named, *fill)
    return commands


def answering_runs(cell: CellResult, others: Mapping[Place, Figure]) -> tuple[str, ...]:
    """Return the ids of the fits whose answers stand for a system: those of an ensemble, or the selected one."""
    for column in cell.cell.columns:
        figure = others.get((cell.cell.system, column))
        if figure is not None and figure.members:
            return figure.members
    return () if cell.selected is None or not cell.cell.columns else (cell.selected.id,)
