"""The order in which the fits of a study run: grid points as searches and early stopping ask for them, then looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from benchrunner import Recipe, RequestError, guarded
from benchrunner.results import CellResult, Result, Runner, cells, planning
from benchrunner_search.budget import Budget
from benchrunner_search.lines import next_rung, points_of, unstopped


@final
@dataclass(frozen=True)
class Choosing:
    """Chooses the fits of a study by its result so far: a repeated study chooses alike."""

    runner: Runner
    budget: Budget

    def __call__(self, planned: Sequence[cells.Cell], result: Result | None) -> list[cells.Cell]:
        """Return the cells with their next grid points; if there are none, with the restarts of the next look."""
        chosen = self._next_points(planned, result)
        if result and not chosen and any(cell.fitting.looks for cell in planned):
            return self._next_look(result)
        return chosen

    def _next_points(self, planned: Sequence[cells.Cell], result: Result | None) -> list[cells.Cell]:
        """Return the cells that have grid points to train, with these and those that are trained.

        The budget ends searches: it leaves out the last points that are asked for, as many of each cell.
        """
        finished = planning.finished_cells(result)
        trained = {cell.key: finished[cell.key].scores if cell.key in finished else {} for cell in planned}
        asked = {cell.key: self._asked(cell, trained[cell.key]) for cell in planned}
        is_limited = any(cell.fitting.search for cell in planned)
        for size in range(max(map(len, asked.values()), default=0), 0, -1):
            asking = (cell for cell in planned if asked[cell.key])
            chosen = [cell.of_points({*trained[cell.key], *asked[cell.key][:size]}) for cell in asking]
            if not is_limited or self.budget.pays(chosen, result, self.runner):
                return chosen
        if planned and not any(trained.values()):
            raise RequestError("The budget does not pay for a grid point of each system and task: give a larger one.")
        return []

    def _asked(self, cell: cells.Cell, scores: Mapping[Recipe, float]) -> list[Recipe]:
        """Return the grid points of a cell that are trained next; `scores` are those of the trained ones."""
        choice = cell.fitting.search
        if not choice:
            return planning.ready_points(cell, scores)
        points = unstopped(points_of(cell), scores, choice.options.get("early_stop"))
        if "search" not in choice.options or len(points) < 2:
            return next_rung(points, scores)
        search = self.runner.plugins.searches.find(choice.options["search"])
        untried = set(points) - scores.keys()
        with guarded(f"The search '{search.name}'"):
            asked = [point for point in search.next_points(points, scores) if point in untried]
        return asked if choice.most is None else asked[: choice.most - len(scores)]

    def _next_look(self, result: Result) -> list[cells.Cell]:
        """Plan the restarts of the next look at columns that have an unclear comparison, as far as the budget allows.

        A column gets all of these restarts, or none.
        """
        planned = dict[cells.CellKey, cells.Cell]()
        for of_column in planning.unclear_cells(result).values():
            more = dict(planned)
            for cell in of_column:
                more[cell.cell.key] = _with_next_look(cell, self.runner)
            if self.budget.pays(more.values(), result, self.runner):
                planned = more
        return list(planned.values())


def _with_next_look(result: CellResult, runner: Runner) -> cells.Cell:
    """Plan a cell again, with the restarts of the next look at its selected grid point."""
    cell, finished = result.cell, result.chosen_fits
    restarts = next(look for look in cell.fitting.looks if look > len(finished))
    candidates = []
    for point in cell.candidates:
        if point.fits == finished:
            seeds = cell.fitting.seeds[len(finished) : restarts]
            added = planning.restarts(cell, finished[0].method, point.recipe, seeds, runner)
            point = replace(point, fits=(*finished, *added))
        candidates.append(point)
    return replace(cell, candidates=tuple(candidates))
