"""Lines of grid points that differ only in the length of the training, and the search that halves their number.

Where the learning rates of the first steps do not depend on the length, the fits of a line are one training, of which
each fit takes the steps that are left.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from benchrunner.fits.fit import Fit
from benchrunner.parameters.recipes import Recipe
from benchrunner.studies.cells import Cell, different_fits

KEPT_SHARE = 3
"""One of this number of lines goes on after a rung of successive halving (Li et al. 2020, whose eta this is)."""


def points_of(cell: Cell) -> list[Recipe]:
    """List the grid points of a cell, those with the shortest trainings first."""
    rows = cell.candidates[0].rows
    return sorted((point.recipe for point in cell.candidates), key=lambda recipe: _length(recipe, rows))


def _length(recipe: Recipe, rows: int | None) -> tuple[float, float]:
    return recipe.passes(rows or 0), recipe.stop_at or recipe.max_steps or math.inf


def lines_of(points: Iterable[Recipe]) -> list[list[Recipe]]:
    """Group grid points, the shortest first, into lines, which differ only in the length of the training."""
    lines = dict[Recipe, list[Recipe]]()
    for point in points:
        lines.setdefault(_of_any_length(point), []).append(point)
    return list(lines.values())


def _of_any_length(recipe: Recipe) -> Recipe:
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


def shorter_recipes(recipes: Iterable[Recipe], rows: int | None, cell: Cell) -> dict[Recipe, Recipe]:
    """Map each recipe whose trainings, on so many rows, go on from those of a shorter one to this shorter recipe.

    Trials and the fits of folds train alone.
    """
    from benchrunner.training.schedule import goes_on  # loads torch, which a list of searches does without

    before = dict[Recipe, Recipe]()
    shorter = dict[Recipe, Recipe]()
    trains_alone = cell.fitting.trials or cell.task.folds
    for recipe in () if trains_alone else sorted(recipes, key=lambda recipe: _length(recipe, rows)):
        line = _of_any_length(recipe)
        if line in before and goes_on(recipe, before[line]):
            shorter[recipe] = before[line]
        before[line] = recipe
    return shorter


def linked(cells: Sequence[Cell]) -> dict[str, Fit]:
    """Map ids of fits to the fits, each with the shorter fit that it goes on from and whether a longer one follows."""
    fits = {fit.id: fit for fit in different_fits(cells)}
    for cell in cells:
        fits_of = dict[Recipe, dict[int, str]]()
        for point in cell.candidates:
            fits_of[point.recipe] = {fit.seed: fit.id for fit in point.fits}
            if cell.fitting.keep == "all":  # a later study may have longer trainings
                fits |= {fit.id: replace(fit, leaves_state=True) for fit in point.fits}
        for longer, shorter in shorter_recipes(fits_of, cell.candidates[0].rows, cell).items():
            for seed in fits_of[longer].keys() & fits_of[shorter].keys():
                after, before = fits_of[longer][seed], fits_of[shorter][seed]
                fits[after] = replace(fits[after], shorter=before)
                fits[before] = replace(fits[before], leaves_state=True)
    return fits


def fit_epochs(cell: Cell) -> dict[str, float]:
    """Map ids of a cell's fits to their passes over the training data, without the steps that a fit takes over."""
    rows = cell.candidates[0].rows or 0
    shorter = shorter_recipes((point.recipe for point in cell.candidates), rows, cell)
    passes_of_folds = cell.task.folds.passes if cell.task.folds else 1
    epochs = dict[str, float]()
    for point in cell.candidates:
        taken_over = shorter[point.recipe].passes(rows) if point.recipe in shorter else 0
        passes = passes_of_folds * (point.recipe.passes(rows) - taken_over)
        epochs |= dict.fromkeys((fit.id for fit in point.fits), passes)
    return epochs
