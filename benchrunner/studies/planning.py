"""Plan the fits of a study, after a check that their data is there."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchrunner.console.printing import print_note
from benchrunner.errors import DataError, RequestError, UnknownName
from benchrunner.fits.fit import Fit
from benchrunner.fits.search import Search
from benchrunner.methods.method import Method
from benchrunner.parameters.grids import Grid
from benchrunner.parameters.recipes import STEP_FIELDS, Recipe
from benchrunner.plugins.offered_values import Offers, meant
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import SEALED, Candidate, Cell, CellResult, Fitting, different_fits
from benchrunner.studies.searching.lines import is_searched, length_of, of_any_length
from benchrunner.studies.study import Study
from benchrunner.tasks.task import Task

ADVICE = "To leave this column out, name the others: --columns A,B."
"""What a user can do about a column of a study file whose data is missing."""


def planned(cell: Cell, runner: Runner) -> Cell:
    """Plan the fits of a cell."""
    method = runner.plugins.methods.find(cell.method or cell.task.method)
    all_rows = len(runner.planner.rows(cell.task, cell.task.train))
    recipes, seeds = grid_and_seeds(cell.fitting, cell.task, method, all_rows)
    candidates = []
    for recipe in recipes:
        fits = _restarts(cell, method.name, recipe, seeds, runner)
        candidates.append(Candidate(recipe, fits, _rows(cell.task, recipe, runner)))
    cell = replace(cell, candidates=tuple(candidates))
    _check_trials(cell.fitting, runner.plugins.searches)
    if method.trains_in_steps:
        _check_search(cell)
    return cell


def _check_trials(fitting: Fitting, searches: Offers[Search]) -> None:
    """Raise a `RequestError` for trials without a search that has some, and for such a search without trials."""
    has_trials = bool(fitting.search) and searches.find(fitting.search).has_trials
    if has_trials and (not fitting.trials or fitting.early_stop):
        raise RequestError(
            f"The search {fitting.search} tries a number of grid points of any length: give --trials, such as "
            "--trials 8, and leave early-stop out."
        )
    if fitting.trials and not has_trials:
        names = [name for name, search in searches.items() if search.has_trials]
        raise RequestError(
            "The option trials is the number of grid points that a search tries: give it with --search "
            f"{' or '.join(names) or 'tpe (pip install benchrunner[optuna])'}, or leave it out."
        )


def _check_search(cell: Cell) -> None:
    """Raise a `RequestError` if the lengths of the trainings of a cell leave nothing to stop early."""
    option = "early-stop" if cell.fitting.early_stop else "search"
    if (cell.fitting.early_stop or cell.fitting.search) and not is_searched(cell):
        raise RequestError(
            f"The option {option} ends trainings that are shorter than others, and all trainings have one length: give "
            "several, such as --epochs 1-10."
        )


def _restarts(cell: Cell, method: str, recipe: Recipe, seeds: Iterable[int], runner: Runner) -> tuple[Fit, ...]:
    """Plan the fits of a grid point."""
    plan = runner.planner.plan
    return tuple(plan(cell.task, cell.backbone, method=method, recipe=recipe, seed=seed) for seed in seeds)


def with_next_look(result: CellResult, runner: Runner) -> Cell:
    """Plan a cell again, with the restarts of the next look at its selected grid point."""
    cell = result.cell
    finished = result.chosen_fits
    restarts = next(look for look in cell.fitting.looks if look > len(finished))
    candidates = []
    for point in cell.candidates:
        if point.fits == finished:
            seeds = cell.fitting.seeds[len(finished) : restarts]
            added = _restarts(cell, finished[0].method, point.recipe, seeds, runner)
            point = replace(point, fits=(*finished, *added))
        candidates.append(point)
    return replace(cell, candidates=tuple(candidates))


def check_data(study: Study, runner: Runner) -> None:
    """Read every split that the cells of a study need, before anything runs.

    The error for missing or wrong data names the system or column of the study file that asks for it.
    """
    known = set()
    for cell in (*study.cells, *study.stages):
        key = (cell.task.name, cell.scored_splits)
        if key in known:
            continue
        known.add(key)
        where, advice = "", ""
        if study.name and cell.columns:
            where, advice = f"{study.name}, column {cell.columns[0]}", ADVICE
        elif study.name:
            where = f"{study.path}: system {cell.system}: first"
        with naming(where, advice):
            check_splits(cell, runner)


def check_splits(cell: Cell, runner: Runner) -> None:
    """Read the training split of a cell and all splits that it answers; a note says which of them has no labels."""
    task = cell.task
    for split in dict.fromkeys((task.train, *cell.scored_splits)):
        rows = runner.planner.rows(task, split)
        if split in cell.tests and task.problem.gold(rows.table) is None:
            print_note(f"{task.name} ({split}): {SEALED} (there are none in {rows.origin}).")


def grid_and_seeds(
    fitting: Fitting, task: Task, method: Method, rows: float = math.inf
) -> tuple[list[Recipe], tuple[int, ...]]:
    """Return the recipes and the seeds with which a task is begun; each recipe has a fit for each seed.

    A limit that all training rows of the task, `rows`, do not pass is none, so that equal rows are learned from once.
    """
    base = task.recipe.changed(**method.recipe_defaults)
    if fitting.preset is not None:
        base = base.changed(**fitting.preset.values_for(task.whole.name))
    changes = dict(fitting.changes)
    limit = changes.get("limit_train", 0)
    if limit is None or limit >= rows:  # all rows: none are drawn
        changes["limit_train"] = None
    base = base.changed(**changes)
    if method.needs_backbone and not method.trains_in_steps:
        base = base.changed(**{name: getattr(Recipe(), name) for name in (*STEP_FIELDS, "precision")})  # exact vectors
    choices = {name: values for name, values in fitting.grid.choices.items() if method.reads(name, task.problem)}
    seeds = fitting.first_seeds if method.needs_backbone else fitting.seeds[:1]
    return list(Grid(choices).points(base)), seeds


def shorter_recipes(recipes: Iterable[Recipe], rows: int | None, cell: Cell) -> dict[Recipe, Recipe]:
    """Map each recipe whose trainings, on so many rows, go on from those of a shorter one to this shorter recipe.

    Where the learning rates of the first steps do not depend on the length, the trainings of a line are one training.
    Trials and the fits of folds train alone.
    """
    before = dict[Recipe, Recipe]()
    shorter = dict[Recipe, Recipe]()
    trains_alone = cell.fitting.trials or cell.task.folds
    for recipe in () if trains_alone else sorted(recipes, key=lambda recipe: length_of(recipe, rows)):
        line = of_any_length(recipe)
        if line in before and recipe.goes_on_from(before[line]):
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


def rows_read(task: Task, method: Method, recipe: Recipe, runner: Runner, shorter: Recipe | None = None) -> int:
    """Estimate how many training rows a fit reads, each once in every epoch; 0 for a method that learns nothing.

    A method without steps reads each row once. `shorter` is the recipe of the fit that this one goes on from.
    """
    if not method.needs_backbone:
        return 0
    rows = _rows(task, recipe, runner)
    passes = recipe.passes(rows) - (0 if shorter is None else shorter.passes(rows)) if method.trains_in_steps else 1
    return round(rows * passes) * (task.folds.passes if task.folds else 1)


def _rows(task: Task, recipe: Recipe, runner: Runner) -> int:
    """Count the training rows that a fit with this recipe learns from."""
    rows = len(runner.planner.rows(task, task.train))
    return min(rows, recipe.limit_train or rows)


@contextlib.contextmanager
def naming(where: str, advice: str = "") -> Iterator[None]:
    """Begin errors from the `with` block with `where`, a part of a study file, and end them with the advice."""
    try:
        yield
    except RequestError as error:
        if not where:
            raise
        kind = DataError if isinstance(error, DataError) else RequestError
        raise kind(f"{where}: {error}\n{advice}".rstrip()) from None  # the error may end in a list


def study_file(name: str, plugins: Plugins) -> tuple[str, Path]:
    """Return the name and the path of a study file, by its name, the last part of the name, or its path."""
    if name.endswith(".toml"):
        return name, Path(name)
    known = plugins.studies
    full = meant(name, known)
    if full is None:
        raise UnknownName("study", name, known, "The path of a .toml file is understood as well.")
    return full, known[full]
