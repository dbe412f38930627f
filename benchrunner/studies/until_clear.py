"""Restarts that are added until comparisons are clear: which cells the next look needs, and what a budget allows."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import final

from benchrunner.errors import RequestError
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Cell, CellKey, CellResult
from benchrunner.studies.planning import with_next_look
from benchrunner.studies.result import Result
from benchrunner.studies.study import Study


@final
@dataclass(frozen=True)
class Budget:
    """What all fits of a study together may cost, those included that were finished before."""

    fits: float = math.inf
    seconds: float = math.inf
    """Seconds of fitting, as records have them."""

    @classmethod
    def read(cls, text: str) -> Budget:
        """Read a budget such as `40 fits`, `4h` or `90min`."""
        match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?(fits|h|min)", text.strip())
        if match is None:
            raise RequestError(f"A budget is written as 40fits, 4h or 90min, not '{text}'.")
        limit = float(match[1])
        if match[2] == "fits":
            return cls(fits=limit)
        return cls(seconds=limit * (3600 if match[2] == "h" else 60))


def check_looks(study: Study, budget: str | None) -> Budget:
    """Read the budget; raise a `RequestError` if nothing is compared, or if a budget has nothing to limit."""
    if budget is not None and not study.looks:
        raise RequestError(
            "A budget limits the restarts that are added until comparisons are clear: give --until-clear."
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
    planned = dict[CellKey, Cell]()
    for cells in unclear_cells(result).values():
        more = dict(planned)
        for cell in cells:
            more[cell.cell.key] = with_next_look(cell, runner)
        fits, seconds = _cost(result, more, runner)
        if fits <= budget.fits and seconds <= budget.seconds:
            planned = more
    return list(planned.values())


def _cost(result: Result, planned: Mapping[CellKey, Cell], runner: Runner) -> tuple[int, float]:
    """Count the fits of a study in which some cells are planned anew, and their seconds.

    A new fit counts as the mean of its cell's restarts, also if it is finished: repeated, a study decides alike.
    """
    seconds = dict[str, float]()
    for cell in result.cells:
        known = {}
        for fit in cell.cell.fits:
            record = runner.folder(fit).record()
            known[fit.id] = record.timings.get("seconds", 0.0) if record else 0.0
        mean = fmean([known[fit.id] for fit in cell.restarts] or [0.0])
        for fit in planned.get(cell.cell.key, cell.cell).fits:
            seconds.setdefault(fit.id, known.get(fit.id, mean))
    return len(seconds), sum(seconds.values())
