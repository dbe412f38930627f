"""The order in which grid points are trained: rung by rung, from short trainings to longer ones that go on from them.

Grid points that differ only in the length of the training form a line. Where the learning rates of the first steps do
not depend on the length, the fits of a line are one training, of which each fit takes the steps that are left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import final

from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.parameters.recipes import Recipe
from benchrunner.studies.cells import Candidate, Cell
from benchrunner.training.schedule import has_free_steps

Line = tuple[Candidate, ...]
"""Grid points that differ only in the length of the training, the shortest first."""
KEPT_SHARE = 3
"""One of this number of lines goes on after a rung of successive halving (Li et al. 2020, whose eta this is)."""


def lines_of(cell: Cell) -> list[Line]:
    """Group the grid points of a cell into lines."""
    lines = dict[Recipe, list[Candidate]]()
    for point in cell.candidates:
        lines.setdefault(_of_any_length(point.recipe), []).append(point)
    return [tuple(sorted(points, key=lambda point: _length(point.recipe, point.rows))) for points in lines.values()]


def _of_any_length(recipe: Recipe) -> Recipe:
    """Return what a recipe has in common with those that differ only in the length of the training."""
    return recipe.changed(epochs=1, max_steps=None)


def _length(recipe: Recipe, rows: int | None) -> tuple[float, float]:
    return recipe.passes(rows or 0), recipe.max_steps or math.inf


def shorter_recipes(recipes: Iterable[Recipe], rows: int | None) -> dict[Recipe, Recipe]:
    """Map each recipe whose trainings, on so many rows, go on from those of a shorter one to this shorter recipe."""
    before = dict[Recipe, Recipe]()
    shorter = {}
    for recipe in sorted(recipes, key=lambda recipe: _length(recipe, rows)):
        line = _of_any_length(recipe)
        if line in before and has_free_steps(recipe):
            shorter[recipe] = before[line]
        before[line] = recipe
    return shorter


def linked(cells: Iterable[Cell]) -> dict[str, Fit]:
    """Map ids of fits to the fits, each with the shorter fit that it goes on from and whether a longer one follows."""
    fits = dict[str, Fit]()
    for cell in cells:
        for fit in cell.fits:
            fits.setdefault(fit.id, fit)
    for cell in cells:
        fits_of = dict[Recipe, dict[int, str]]()
        for point in cell.candidates:
            fits_of[point.recipe] = {fit.seed: fit.id for fit in point.fits}
        for longer, shorter in shorter_recipes(fits_of, cell.candidates[0].rows).items():
            for seed in fits_of[longer].keys() & fits_of[shorter].keys():
                after, before = fits_of[longer][seed], fits_of[shorter][seed]
                fits[after] = replace(fits[after], shorter=before)
                fits[before] = replace(fits[before], leaves_state=True)
    return fits


def epochs_trained(cell: Cell) -> float:
    """Count the passes over the training data in the fits of a cell: steps that a fit takes over count once."""
    rows = cell.candidates[0].rows or 0
    shorter = shorter_recipes((point.recipe for point in cell.candidates), rows)
    epochs = 0.0
    for point in cell.candidates:
        taken_over = shorter[point.recipe].passes(rows) if point.recipe in shorter else 0
        epochs += len(point.fits) * (point.recipe.passes(rows) - taken_over)
    return epochs


def is_searched(cell: Cell) -> bool:
    """Whether some trainings of a cell are left out if shorter ones are not good enough."""
    return bool(cell.fitting.early_stop or cell.fitting.search) and max(map(len, lines_of(cell))) > 1


def check_search(cell: Cell) -> None:
    """Raise a `RequestError` if the lengths of the trainings of a cell leave nothing to stop early."""
    option = "early-stop" if cell.fitting.early_stop else "search"
    if (cell.fitting.early_stop or cell.fitting.search) and not is_searched(cell):
        raise RequestError(
            f"The option {option} ends trainings that are shorter than others, and all trainings have one length: give "
            "several, such as --epochs 1-10."
        )


@final
class Rungs:
    """The fits of planned cells, rung by rung: each rung has the next longer grid point of every line that goes on."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._planned = cells
        self._fits = linked(cells)
        self._lines = {cell.key: self._lines_of(cell) for cell in cells}
        self._reached = 0

    def _lines_of(self, cell: Cell) -> list[Line]:
        """Return the lines of a cell; each grid point is its own line if nothing makes the points wait."""
        climbs = cell.fitting.early_stop or cell.fitting.search or any(self._fits[fit.id].shorter for fit in cell.fits)
        return lines_of(cell) if climbs else [(point,) for point in cell.candidates]

    @property
    def fits(self) -> list[Fit]:
        """All planned fits, each once."""
        return list(self._fits.values())

    def shorter(self, fit: Fit) -> Fit | None:
        """Return the fit that a fit goes on from."""
        return self._fits.get(self._fits[fit.id].shorter)

    @property
    def cells(self) -> list[Cell]:
        """The cells with the grid points of the rungs so far."""
        cells = []
        for cell in self._planned:
            reached = {point.recipe for line in self._lines[cell.key] for point in line[: self._reached]}
            points = tuple(point for point in cell.candidates if point.recipe in reached)
            cells.append(replace(cell, candidates=points))
        return cells

    @property
    def is_last(self) -> bool:
        """Whether no line has a grid point above the rungs so far."""
        return all(len(line) <= self._reached for lines in self._lines.values() for line in lines)

    def next_fits(self) -> list[Fit]:
        """Go on to the next rung and return its fits, each once; empty after the last rung."""
        fits = dict[str, Fit]()
        for lines in self._lines.values():
            for line in lines:
                for point in line[self._reached : self._reached + 1]:
                    fits |= {fit.id: self._fits[fit.id] for fit in point.fits}
        self._reached += 1
        return list(fits.values())

    def end_lines(self, score: Callable[[Cell, Candidate], float]) -> None:
        """End the lines that do not go on; `score` gives what dev says of a grid point whose fits are finished."""
        for cell in self._planned:
            lines = self._lines[cell.key]
            if cell.fitting.early_stop:
                lines = [self._improving(cell, line, score) for line in lines]
            if cell.fitting.search:
                lines = self._halved(cell, lines, score)
            self._lines[cell.key] = lines

    def _improving(self, cell: Cell, line: Line, score: Callable[[Cell, Candidate], float]) -> Line:
        """Cut a line off at this rung if its score did not improve over the last grid points."""
        scores = [score(cell, point) for point in line[: self._reached]]
        since_best = len(scores) - 1 - scores.index(max(scores))
        return line[: self._reached] if since_best >= (cell.fitting.early_stop or 0) else line

    def _halved(self, cell: Cell, lines: Sequence[Line], score: Callable[[Cell, Candidate], float]) -> list[Line]:
        """Cut off all but the best lines at this rung; of equal lines the first ones go on.

        Lines that were cut off here before, when a study adds restarts, count among those that were trained.
        """
        trained = sum(len(line) >= self._reached for line in lines)
        scores = dict[int, float]()
        for number, line in enumerate(lines):
            if len(line) > self._reached:
                scores[number] = score(cell, line[self._reached - 1])
        best = sorted(scores, key=scores.__getitem__, reverse=True)[: max(1, trained // KEPT_SHARE)]
        return [line if number in best else line[: self._reached] for number, line in enumerate(lines)]
