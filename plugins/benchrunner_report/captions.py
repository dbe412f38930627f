"""Captions of a study: what was run, with which recipe, seeds and learning rates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from benchrunner.engine import Method
from benchrunner.results import CellResult, Result, comparison


def caption(result: Result) -> Iterator[str]:
    """Yield what was run: recipe, seeds, chosen learning rates, first tasks and named recipes."""
    fitting = result.study.fitting
    if fitting is not None:
        count, seeds = len(fitting.seeds), ", ".join(map(str, fitting.seeds))
        restarts = f"{count} restarts (seeds {seeds})" if count > 1 else f"seed {seeds}"
        if fitting.looks:
            restarts = _restarts(result)
        recipe = _recipe_text(result)
        yield f"{recipe}; {restarts}" if recipe else restarts
        rates = _chosen_rates(result)
        if rates:
            yield rates
    yield from _origins(result)


def _origins(result: Result) -> Iterator[str]:
    """Yield the tasks of which fits start, and their named recipes, with the systems unless these are all.

    The notes of a recipe are what it cannot express of its source.
    """
    used = [(f"fine-tuned on {system.first} first", system.name) for system in result.study.systems if system.first]
    for cell in result.cells:
        preset = cell.cell.fitting.preset
        if preset is not None:
            notes = f"; {preset.notes}" if preset.notes else ""
            used.append((f"recipe {preset.name}: {preset.source}{notes}", cell.cell.system))
    for note, systems in comparison.grouped(used).items():
        yield note if len(systems) == len(result.study.names) else f"{', '.join(systems)}: {note}"


_CAPTION_FIELDS = {
    "epochs": "epochs {}",
    "max_steps": "at most {} steps",
    "batch_size": "batch size {}",
    "max_length": "{} tokens",
    "limit_train": "limited to {} random training rows",
    "precision": "{}",
}
"""Fields of recipes that a caption always shows, and how; it also names the fields that a grid varies."""


def _recipe_text(result: Result) -> str:
    """Describe the chosen recipes; values that differ between tasks are separated by a slash."""
    forms = dict(_CAPTION_FIELDS)
    chosen = []
    is_chosen = set[str]()
    methods = dict[str, None]()
    for cell in result.table_cells:
        if cell.restarts:
            methods[cell.restarts[0].method] = None
            for name, value in _shown_values(cell):
                own_form = f"{name if '.' in name else name.replace('_', ' ')} {{}}"
                forms.setdefault(name, own_form)
                if len({getattr(point.recipe, name, None) for point in cell.cell.candidates}) > 1:
                    is_chosen.add(name)
                chosen.append((name, str(value)))
    parts = ["/".join(methods)] if methods else []
    values = comparison.grouped(chosen)
    for name, form in forms.items():
        if name in values:
            parts.append(form.format("/".join(values[name])) + " chosen on dev" * (name in is_chosen))
    return ", ".join(parts)


def _shown_values(cell: CellResult) -> Iterator[tuple[str, Any]]:
    """Yield the values of the chosen recipe that a caption names, with the parameters of methods."""
    if cell.chosen is None:
        return
    method, task = _method(cell), cell.cell.task
    for name, value in vars(cell.chosen).items():
        is_varied = len(cell.cell.fitting.grid.choices.get(name, ())) > 1 and name != "lr"  # see `_chosen_rates`
        is_shown = value is not None and (name in _CAPTION_FIELDS or is_varied)
        if is_shown and (method is None or method.reads(name, task.problem)):
            yield name, value
    yield from cell.chosen.parameters.items()


def _method(cell: CellResult) -> Method | None:
    """Return the method of a cell's fits; None if it is not known."""
    if cell.runner is None or not cell.restarts:
        return None
    return cell.runner.plugins.methods.find(cell.restarts[0].method)


def _chosen_rates(result: Result) -> str:
    """Say which learning rate each cell has, and whether dev chose it; a single rate for all cells is said once."""
    places_of = defaultdict[str, list[tuple[str, str]]](list)
    is_chosen = False
    for cell in result.table_cells:
        is_chosen = is_chosen or len({point.recipe.lr for point in cell.cell.candidates}) > 1
        method = _method(cell)
        if cell.chosen is not None and (method is None or method.trains_in_steps):
            places_of[f"{cell.chosen.lr:g}"].append((comparison.titles(cell, result), cell.cell.system))
    return _by_value("learning rate", places_of, result, " chosen on dev" * is_chosen)


def _restarts(result: Result) -> str:
    """Say how many restarts each cell has."""
    places_of = defaultdict[str, list[tuple[str, str]]](list)
    for cell in result.table_cells:
        places_of[str(len(cell.chosen_fits))].append((comparison.titles(cell, result), cell.cell.system))
    return _by_value("restarts", places_of, result)


def _by_value(name: str, places_of: Mapping[str, list[tuple[str, str]]], result: Result, more: str = "") -> str:
    """Say where each value is; `more` is added to the name unless there is one value only."""
    if len(places_of) < 2:
        return f"{name} {next(iter(places_of))}" if places_of else ""
    shown = [
        f"{value} ({comparison.where(places, all_systems=len(result.study.names))})"
        for value, places in places_of.items()
    ]
    return f"{name}{more}: {', '.join(shown)}"
