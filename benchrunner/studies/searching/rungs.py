"""The order in which grid points are trained: at once, from short trainings to longer ones, or as a search asks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import final

from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.parameters.recipes import Recipe
from benchrunner.plugin_code import guarded
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Candidate, Cell, CellKey, different_fits
from benchrunner.studies.planning import linked
from benchrunner.studies.searching.budget import Budget, cost_of
from benchrunner.studies.searching.lines import is_searched, lines_of, next_rung, points_of


@final
class Rungs:
    """The fits of planned cells, rung by rung: each rung has the grid points that are trained at the same time.

    `earlier` are the cells of the study whose fits are finished: their grid points are decided.
    """

    def __init__(self, cells: Sequence[Cell], runner: Runner, budget: Budget, earlier: Mapping[CellKey, Cell]) -> None:
        self._planned = cells
        self._runner = runner
        self._earlier = earlier
        self._budget = budget if any(map(is_searched, cells)) else Budget()
        self._fits = linked(cells)
        self._scores: Mapping[CellKey, dict[Recipe, float]] = {cell.key: {} for cell in cells}
        self._is_over = False

    @property
    def fits(self) -> list[Fit]:
        """All planned fits, each once."""
        return list(self._fits.values())

    @property
    def most(self) -> int:
        """The number of fits that run at most: in a search with trials, those of so many grid points."""
        return len(
            different_fits(replace(cell, candidates=cell.candidates[: cell.fitting.trials]) for cell in self._planned)
        )

    def shorter(self, fit: Fit) -> Fit | None:
        """Return the fit that a fit goes on from."""
        return self._fits.get(self._fits[fit.id].shorter)

    @property
    def cells(self) -> list[Cell]:
        """The cells with the grid points of the rungs so far."""
        return [_only(cell, self._scores[cell.key]) for cell in self._planned]

    def next_fits(self, score: Callable[[Cell, Candidate], float]) -> list[Fit]:
        """Choose the next rung and return its fits, each once; empty after the last rung.

        `score` gives what dev says of a grid point whose fits are finished. The budget ends searches: it leaves out the
        last points of the rung, as many of each cell.
        """
        for cell in self.cells:
            self._scores[cell.key] |= {point.recipe: score(cell, point) for point in cell.candidates}
        asked = {cell.key: [] if self._is_over else self._next(cell) for cell in self._planned}
        while any(asked.values()) and not self._is_paid(asked):
            self._is_over = True
            size = max(map(len, asked.values()))
            asked = {key: points[: size - 1] for key, points in asked.items()}
        for key, points in asked.items():
            self._scores[key] |= dict.fromkeys(points, -math.inf)
        if not any(self._scores.values()):
            raise RequestError("The budget does not pay for a grid point of each system and task: give a larger one.")
        rung = [_only(cell, asked[cell.key]) for cell in self._planned]
        return [self._fits[fit.id] for fit in different_fits(rung)]

    def _is_paid(self, asked: Mapping[CellKey, Sequence[Recipe]]) -> bool:
        """Return whether the budget covers the study with these grid points of each cell."""
        if self._budget == Budget():
            return True
        cells = dict(self._earlier)
        finished = {fit.id for cell in (*self._earlier.values(), *self.cells) for fit in cell.fits}
        for cell in self._planned:
            cells[cell.key] = _only(cell, (*self._scores[cell.key], *asked[cell.key]))
        return self._budget.covers(cost_of(cells.values(), finished, self._runner))

    def _next(self, cell: Cell) -> list[Recipe]:
        """Return the grid points of a cell that are trained next."""
        scores = self._scores[cell.key]
        points = _unstopped(cell, scores)
        if cell.fitting.search and cell.key not in self._earlier and len(points) > 1:
            search = self._runner.plugins.searches.find(cell.fitting.search)
            with guarded(f"The search '{search.name}'"):
                asked = [point for point in search.next_points(points, scores) if point not in scores]
            return asked if cell.fitting.trials is None else asked[: cell.fitting.trials - len(scores)]
        if cell.fitting.early_stop or any(self._fits[fit.id].shorter for fit in cell.fits):
            return next_rung(points, scores)
        return [point for point in points if point not in scores]


def _only(cell: Cell, points: Collection[Recipe]) -> Cell:
    """Return a cell with some of its grid points alone."""
    return replace(cell, candidates=tuple(point for point in cell.candidates if point.recipe in points))


def _unstopped(cell: Cell, scores: Mapping[Recipe, float]) -> list[Recipe]:
    """Return the grid points of a cell without the longer ones of lines that do not improve any more."""
    points = points_of(cell)
    patience = cell.fitting.early_stop
    if patience is None:
        return points
    left = list[Recipe]()
    for line in lines_of(points):
        of_line = [scores[point] for point in line if point in scores]
        since_best = len(of_line) - 1 - of_line.index(max(of_line)) if of_line else 0
        left += line[: len(of_line)] if since_best >= patience else line
    return left
