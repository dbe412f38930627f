"""Lines of grid points that differ only in the length of the training, and the search that halves their number."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from benchrunner.parameters.recipes import Recipe
from benchrunner.studies.cells import Cell

KEPT_SHARE = 3
"""One of this number of lines goes on after a rung of successive halving (Li et al. 2020, whose eta this is)."""


def points_of(cell: Cell) -> list[Recipe]:
    """List the grid points of a cell, those with the shortest trainings first."""
    rows = cell.candidates[0].rows
    return sorted((point.recipe for point in cell.candidates), key=lambda recipe: length_of(recipe, rows))


def length_of(recipe: Recipe, rows: int | None) -> tuple[float, float]:
    """Return what sorts the trainings on so many rows by their length."""
    return recipe.passes(rows or 0), recipe.stop_at or recipe.max_steps or math.inf


def lines_of(points: Iterable[Recipe]) -> list[list[Recipe]]:
    """Group grid points, the shortest first, into lines, which differ only in the length of the training."""
    lines = dict[Recipe, list[Recipe]]()
    for point in points:
        lines.setdefault(of_any_length(point), []).append(point)
    return list(lines.values())


def of_any_length(recipe: Recipe) -> Recipe:
    """Return what a recipe has in common with those that differ only in the length of the training."""
    return recipe.changed(epochs=1, max_steps=None, stop_at=None)


def is_searched(cell: Cell) -> bool:
    """Whether some grid points of a cell are left out if others are better."""
    fitting = cell.fitting
    is_chosen = fitting.trials is not None or max(map(len, lines_of(points_of(cell)))) > 1
    return is_chosen and bool(fitting.early_stop or fitting.search)


def reached_lines(points: Iterable[Recipe], trained: Collection[Recipe]) -> tuple[list[list[Recipe]], int]:
    """Return the lines that were trained up to the last rung so far, and the number of rungs so far."""
    lines = lines_of(points)
    counts = []
    for line in lines:
        counts.append(sum(point in trained for point in line))
    reached = max(counts)
    return [line for line, count in zip(lines, counts, strict=True) if count == reached], reached


def next_rung(points: Iterable[Recipe], trained: Collection[Recipe]) -> list[Recipe]:
    """Return the next longer grid point of every line that was trained up to the last rung so far."""
    lines, reached = reached_lines(points, trained)
    return [line[reached] for line in lines if len(line) > reached]


def halving(points: Sequence[Recipe], scores: Mapping[Recipe, float]) -> Sequence[Recipe]:
    """Return the next rung of the best third of the lines (successive halving); of equal lines the first ones go on."""
    lines, reached = reached_lines(points, scores)
    if not reached:
        return next_rung(points, scores)
    longer = [line for line in lines if len(line) > reached]
    best = sorted(longer, key=lambda line: scores[line[reached - 1]], reverse=True)
    return [line[reached] for line in best[: max(1, len(lines) // KEPT_SHARE)]]
