"""Checks that a plan is one that studies have: which fits a cell has, in which order, and what belongs to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from benchrunner import BenchrunnerError, Recipe, Task, quoted
from benchrunner.engine import first_line
from benchrunner.results import Fit, Runner, cells
from benchrunner_share.documents.plan import PlannedCell, SharedFit


def cell_place(cell: cells.Cell) -> str:
    """Name a cell in sentences."""
    return f"{quoted(cell.system)} on {quoted(cell.task.name)}"


def rebuilt_cell(planned: PlannedCell, task: Task, fits: Mapping[str, SharedFit]) -> cells.Cell:
    """Make a planned cell of a known task and known fits."""
    candidates = []
    for point in planned.candidates:
        restarts = tuple(fits[fit].fit for fit in point.fits)
        candidates.append(cells.Candidate(Recipe.from_json(point.recipe), restarts, point.rows))
    return cells.Cell(
        planned.system,
        task,
        tuple(candidates),
        planned.selection,
        tuple(split for split in planned.tests if split in task.splits),
        planned.backbone,
        planned.method,
        planned.fitting,
    )


def repeated_cells(study_cells: Iterable[cells.Cell]) -> Iterator[str]:
    """Yield a sentence for each cell that stands twice, also with other fits: one plan has one cell."""
    known = set[object]()
    for cell in study_cells:
        key = (cell.system, cell.task.name, cell.method, cell.selection, repr(cell.fitting))
        if key in known:
            yield f"{cell_place(cell)} stands twice."
        known.add(key)


def plan_differences(cell: cells.Cell, revision: str | None, runner: Runner) -> Iterator[str]:
    """Yield a sentence for each part of a cell's plan that no study has. `revision` is that of the backbone."""
    place = cell_place(cell)
    tests = cell.task.named("test")
    if [split for split in tests if split in cell.tests] != list(cell.tests):
        yield f"{place}: the test splits are not those of the task, each once and in its order."
    fits = list(cell.fits)
    if len({fit.id for fit in fits}) < len(fits):
        yield f"{place}: a fit is listed several times."
    if {fit.method for fit in fits} != {cell.method}:
        yield f"{place}: the method is not that of the fits."
    grid = [_grid_place(point, cell.fitting) for point in cell.candidates]
    if cell.fitting.grid.size > 1 and grid != sorted(set(grid)):
        yield f"{place}: the grid points do not stand in the order of the grid, each once."
    looks = cell.fitting.looks
    has_backbone = any(fit.revision for fit in fits)
    if looks and has_backbone:
        *of_others, of_selected = sorted(len(point.fits) for point in cell.candidates)
        if set(of_others) - {looks[0]} or of_selected not in looks:  # later looks only at the selected grid point
            yield f"{place}: the numbers of restarts are not those of the looks {', '.join(map(str, looks))}."
    for point in cell.candidates:
        yield from _point_differences(point, cell, revision)
        yield from _changed_differences(point, cell, runner)
        for fit in point.fits:
            yield from _data_differences(fit, point, cell, runner)


def _grid_place(point: cells.Candidate, fitting: cells.Fitting) -> tuple[int, ...]:
    """Return the places of a grid point's values among the values of the grid; -1 for a value that is not there."""
    places = []
    values_of_point = point.recipe.as_dict()
    for name, values in fitting.grid.choices.items():
        value = values_of_point.get(name)
        places.append(list(values).index(value) if value in values else -1)
    return tuple(places)


def _point_differences(point: cells.Candidate, cell: cells.Cell, revision: str | None) -> Iterator[str]:
    """Yield a sentence for each field of a grid point that is not as in its fits."""
    place = cell_place(cell)
    recipe = point.recipe.as_dict()
    seeds = [fit.seed for fit in point.fits if fit.revision]
    known = list(cell.fitting.seeds)
    if not set(seeds) <= set(known) or seeds != sorted(seeds, key=known.index):
        yield f"{place}: the restarts do not stand in the order of the seeds of the study."
    for fit in point.fits:
        if not fit.revision:  # the method needs no backbone and no recipe
            continue
        for name, value in fit.recipe.general.items():  # the fit may ignore other fields
            if recipe.get(name) != value:
                yield f"{place}: {name} is not that of the fit {fit.id}."
        if revision != fit.revision:
            yield f"{place}: the revision of the backbone is not that of the fit {fit.id}."


def _changed_differences(point: cells.Candidate, cell: cells.Cell, runner: Runner) -> Iterator[str]:
    """Yield a sentence for each value that the study claims to have set and that a grid point does not have."""
    method = runner.plugins.methods.get(cell.method or "")
    changes = dict(cell.fitting.changes)
    limit = changes.get("limit_train", 0)
    if point.recipe.limit_train is None and (limit is None or limit >= (point.rows or 1)):  # as planned for all rows
        changes["limit_train"] = None
    recipe = point.recipe.as_dict()
    for name, value in changes.items():
        is_read = method is None or method.reads(name, cell.task.problem)
        if is_read and name not in cell.fitting.grid.choices and recipe.get(name, value) != value:
            yield f"{cell_place(cell)}: the study says {name} {quoted(value)}, its fits have {quoted(recipe[name])}."


def _data_differences(fit: Fit, point: cells.Candidate, cell: cells.Cell, runner: Runner) -> Iterator[str]:
    """Yield a sentence if the training rows here are not those that a fit of a grid point claims, or not as many."""
    try:
        rows = runner.planner.training_rows(cell.task, fit.recipe, fit.seed)
    except BenchrunnerError as error:
        yield f"{cell_place(cell)}: the training rows of the fit {fit.id} cannot be read here: {first_line(error)}"
        return
    if rows.fingerprint != fit.data:
        yield f"{cell_place(cell)}: the fit {fit.id} learned from other rows than those of {rows.origin}."
    is_counted = point.rows is not None or bool(fit.recipe.limit_train)  # runs named one by one are not counted
    if is_counted and point.rows != len(rows):
        yield f"{cell_place(cell)}: the fit {fit.id} learned from {len(rows):,} rows, and {point.rows} are claimed."


def missing_fits(cell: cells.Cell) -> Iterator[str]:
    """Say whether a cell has fewer fits than its grid and its seeds ask for, or that comparisons decided how many.

    A field of the grid counts if the fits read it: its value differs between them, or is not the default.
    """
    if cell.fitting.looks:
        yield cell.fitting.looks_note
        return
    fits = list(cell.fits)
    asked = len(cell.fitting.seeds) if fits[0].revision else 1  # a method without a backbone has one fit
    for name, values in cell.fitting.grid.choices.items():
        known = {fit.recipe.as_dict().get(name) for fit in fits}
        if known != {Recipe().as_dict().get(name)}:
            asked *= len(values)
    if len(fits) < asked:
        search = cell.fitting.search
        why = f", of which {search.by} left some out" if search else ""
        yield f"{len(fits)} of the {asked} fits of the study{why}"
