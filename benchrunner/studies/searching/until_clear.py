"""Restarts that are added until comparisons are clear: which cells the next look needs, and what a budget allows."""

from __future__ import annotations

from benchrunner.errors import RequestError
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Cell, CellKey, CellResult, different_fits
from benchrunner.studies.planning import with_next_look
from benchrunner.studies.result import Result
from benchrunner.studies.searching.budget import Budget, cost_of
from benchrunner.studies.study import Study


def check_looks(study: Study, budget: str | None) -> Budget:
    """Read the budget; raise a `RequestError` if nothing is compared, or if a budget has nothing to limit."""
    searched = any(cell.fitting.search or cell.fitting.early_stop for cell in study.cells)
    if budget is not None and not study.looks and not searched:
        raise RequestError(
            "A budget limits a search, or the restarts that are added until comparisons are clear: give --search, "
            "--early-stop or --until-clear."
        )
    if study.looks and len(study.compared) < 2:
        raise RequestError(
            f"Restarts are added until comparisons are clear, and {study.compared[0]} is compared with nothing: name "
            "another system, or give --restarts in place of --until-clear."
        )
    return Budget() if budget is None else Budget.read(budget)


def unclear_cells(result: Result) -> dict[str, list[CellResult]]:
    """Map columns to the cells that are in a comparison that more restarts may make clear.

    Where all answers of two systems are equal, or all restarts of the last look are there, they may not.
    """
    cells: dict[str, list[CellResult]] = {}
    for (system, other, column), test in result.statistics.tests.items():
        if test.is_clear or not test.comparison.parts:
            continue
        for name in (*result.study.members(system), *result.study.members(other)):
            cell = result.cell_at[name, column]
            if len(cell.chosen_fits) in result.study.looks[:-1]:  # not the one fit of a method without seeds
                cells.setdefault(column, []).append(cell)
    return cells


def next_cells(result: Result, budget: Budget, runner: Runner) -> list[Cell]:
    """Plan the restarts of the next look at each column that has an unclear comparison, as far as the budget allows.

    A column gets all of these restarts, or none.
    """
    finished = {cell.cell.key: cell.cell for cell in result.cells}
    known = {fit.id for fit in different_fits(finished.values())}
    planned = dict[CellKey, Cell]()
    for cells in unclear_cells(result).values():
        more = dict(planned)
        for cell in cells:
            more[cell.cell.key] = with_next_look(cell, runner)
        if budget.covers(cost_of((finished | more).values(), known, runner)):
            planned = more
    return list(planned.values())
