"""Lines of grid points that differ only in the length of the training, and the search that halves their number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchrunner import Recipe
from benchrunner.results import cells, planning

KEPT_SHARE = 3
"""One of this number of lines goes on after a rung of successive halving (Li et al. 2020, whose eta this is)."""


def points_of(cell: cells.Cell) -> list[Recipe]:
    """List the grid points of a cell, those with the shortest trainings first."""
    rows = cell.candidates[0].rows
    return sorted((point.recipe for point in cell.candidates), key=lambda recipe: planning.length_of(recipe, rows))


def lines_of(points: Iterable[Recipe]) -> list[list[Recipe]]:
    """Group grid points, the shortest first, into lines, which differ only in the length of the training."""
    lines = dict[Recipe, list[Recipe]]()
    for point in points:
        lines.setdefault(planning.of_any_length(point), []).append(point)
    return list(lines.values())


def reached_lines(points: Iterable[Recipe], trained: Mapping[Recipe, float]) -> tuple[list[list[Recipe]], int]:
    """Return the lines that were trained up to the last rung so far, and the number of rungs so far."""
    lines = lines_of(points)
    reached = max(len(trained.keys() & line) for line in lines)
    return [line for line in lines if len(trained.keys() & line) == reached], reached


def next_rung(points: Iterable[Recipe], trained: Mapping[Recipe, float]) -> list[Recipe]:
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


def unstopped(points: Sequence[Recipe], scores: Mapping[Recipe, float], patience: int | None) -> Sequence[Recipe]:
    """Return grid points without those that are more than `patience` lengths longer than the best of their lines."""
    if patience is None:
        return points
    left = list[Recipe]()
    for line in lines_of(points):
        of_line = [scores[point] for point in line if point in scores]
        best = of_line.index(max(of_line)) if of_line else 0
        left += line[: best + patience + 1]
    return left
