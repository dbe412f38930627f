"""Plan the fits of a study, after its data and backbones are found, and choose which come next."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner.console.printing import print_note
from benchrunner.errors import DataError, RequestError, UnknownName
from benchrunner.fits.fit import Fit
from benchrunner.methods.method import Method
from benchrunner.parameters.grids import Grid
from benchrunner.parameters.parameter import Parameter
from benchrunner.parameters.recipes import STEP_FIELDS, Recipe
from benchrunner.plugins.offered_values import meant
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import (
    SEALED,
    Candidate,
    Cell,
    CellKey,
    CellResult,
    Fitting,
    PointChoice,
    different_fits,
)
from benchrunner.studies.study import Study
from benchrunner.tasks.task import Task

if TYPE_CHECKING:
    from benchrunner.studies.result import Result

ADVICE = "To leave this column out, name the others: --columns A,B."
"""What a user can do about a column of a study file whose data is missing."""
Chooser = Callable[[Sequence[Cell], "Result | None"], Sequence[Cell]]
"""Returns the cells of which fits run next, with these fits beside the finished ones; none if nothing is left to run.
It is given the planned cells, of the first tasks or of the columns, with all grid points and the first restarts, and
the result of the study so far, None at first. A repeated study finds the same results in the same order."""


def prepare(study: Study, runner: Runner, *, show: bool) -> None:
    """Check that data, commands and backbones are there, then let plugins build the study's backbones."""
    check_data(study, runner)
    builders: list[Callable[[bool], None]] = runner.plugins.hook.prepare_study(study=study, runner=runner)
    if study.commands and not builders:
        raise RequestError(f"{study.name}: no plugin builds its backbones: the plugin 'studies' does.")
    _check_backbones(study, runner, before_commands=True)
    if builders:
        runner.observers.call("before_study", fits=())  # they are not known yet; a refusal must not come after hours
        for build in builders:
            build(show)
        _check_backbones(study, runner)


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


def _check_backbones(study: Study, runner: Runner, *, before_commands: bool = False) -> None:
    """Find the backbone of each system; with `before_commands`, only those that no command of the study builds."""
    systems = {system.name: system for system in study.systems}
    built = {system.backbone for system in study.systems if system.make and before_commands}
    for cell in (*study.cells, *study.stages):
        method = runner.plugins.methods.find(cell.method or cell.task.method)
        if cell.system not in systems or not method.needs_backbone:
            continue
        system = systems.pop(cell.system)  # its other cells have the same backbone
        if system.backbone not in built:
            with naming(f"{study.name}, system {cell.system}" if study.name else ""):
                runner.planner.backbone(system.backbone)


def planned(cell: Cell, runner: Runner) -> Cell:
    """Plan the fits of a cell."""
    method = runner.plugins.methods.find(cell.method or cell.task.method)
    row_count = len(runner.planner.rows(cell.task, cell.task.train))
    if method.given_answers:
        own_seeds = method.seeds(cell.backbone, cell.task) or (0,)  # without a file, this fit tells what is missing
        cell = replace(cell, fitting=replace(cell.fitting, seeds=own_seeds, looks=()))
    recipes, seeds = grid_and_seeds(cell.fitting, cell.task, method, row_count)
    candidates = []
    for recipe in recipes:
        rows = min(row_count, recipe.limit_train or row_count)
        candidates.append(Candidate(recipe, restarts(cell, method.name, recipe, seeds, runner), rows))
    return replace(cell, candidates=tuple(candidates))


def restarts(cell: Cell, method: str, recipe: Recipe, seeds: Iterable[int], runner: Runner) -> tuple[Fit, ...]:
    """Plan the fits of a grid point."""
    return tuple(
        runner.planner.plan(cell.task, cell.backbone, method=method, recipe=recipe, seed=seed) for seed in seeds
    )


def grid_and_seeds(
    fitting: Fitting, task: Task, method: Method, rows: float = math.inf
) -> tuple[list[Recipe], tuple[int, ...]]:
    """Return the recipes and the seeds with which a task is begun; each recipe has a fit for each seed.

    A `limit_train` of all `rows` of the training split, or more, becomes None: both are then one fit.
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

    Where the learning rates of the first steps do not depend on the length, trainings that differ only in the length
    are one training. The fits of folds train alone, and those of a search that tries some points of any length.
    """
    before = dict[Recipe, Recipe]()
    shorter = dict[Recipe, Recipe]()
    trains_alone = cell.fitting.most_points or cell.task.folds
    for recipe in () if trains_alone else sorted(recipes, key=lambda recipe: length_of(recipe, rows)):
        line = of_any_length(recipe)
        if line in before and recipe.goes_on_from(before[line]):
            shorter[recipe] = before[line]
        before[line] = recipe
    return shorter


def ready_points(cell: Cell, trained: Collection[Recipe]) -> list[Recipe]:
    """List the grid points of a planned cell that are not trained, except those whose shorter one is not trained."""
    recipes = [point.recipe for point in cell.candidates]
    shorter = shorter_recipes(recipes, cell.candidates[0].rows, cell)
    ready = (recipe for recipe in recipes if recipe not in shorter or shorter[recipe] in trained)
    return [recipe for recipe in ready if recipe not in trained]


def length_of(recipe: Recipe, rows: int | None) -> tuple[float, float]:
    """Return what sorts the trainings on so many rows by their length."""
    return recipe.passes(rows or 0), recipe.stop_at or recipe.max_steps or math.inf


def of_any_length(recipe: Recipe) -> Recipe:
    """Return what a recipe has in common with those that differ only in the length of the training."""
    return recipe.changed(epochs=1, max_steps=None, stop_at=None)


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


def every_point(planned: Sequence[Cell], result: Result | None) -> list[Cell]:
    """Add the grid points that can be trained now to each cell that has any."""
    finished = finished_cells(result)
    cells = []
    for cell in planned:
        trained = finished[cell.key].scores if cell.key in finished else {}
        if points := ready_points(cell, trained):
            cells.append(cell.of_points({*trained, *points}))
    return cells


def finished_cells(result: Result | None) -> dict[CellKey, CellResult]:
    """Return the cells that have finished fits, by their keys."""
    return {cell.cell.key: cell for cell in result.cells} if result else {}


def _choose_all(study: Study, runner: Runner, limit: Any) -> Chooser:
    """Choose all grid points; raise a `RequestError` for a study that asks for another choice."""
    if limit is not None or study.looks or any(cell.fitting.search for cell in study.cells):
        raise RequestError("No plugin chooses which fits of a study come next: the plugin 'search' does.")
    return every_point


@final
@dataclass(frozen=True)
class StudySearch:
    """What chooses which fits of a study come next; a plugin offers one in place of all grid points and restarts."""

    chooser: Callable[[Study, Runner, Any], Chooser] = _choose_all
    """Returns what chooses the fits in one run of a study; raises a `RequestError` for what the study cannot have. The
    last argument is the value of `limit`, or None."""
    parameters: tuple[Parameter, ...] = ()
    """Options of every study: command line, study files, help and checks follow."""
    choice: Callable[[Mapping[str, Any], Plugins], PointChoice | None] = lambda values, plugins: None
    """Returns what chooses the grid points for values of the parameters, None if all are trained; raises a
    `RequestError` for values that are not possible."""
    looks: str = ""
    """Name of the parameter whose value is `Fitting.looks`: `choice` is not given it, and `--help` shows it."""
    limit: Parameter | None = None
    """Option, named `limit`, of one run of a study, which is kept nowhere, such as what the study may cost."""


def search_of(plugins: Plugins | None) -> StudySearch:
    """Return the search that a plugin offers, or that of all grid points.

    The parser of a command that adds its options as it is registered, not in a module, knows no plugins yet.
    """
    search: StudySearch | None = plugins.hook.offer_search() if plugins else None
    return search or StudySearch()


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
