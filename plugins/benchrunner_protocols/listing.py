"""What a protocol says, in lines: for the terminal and for the documentation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchrunner import NamedRecipe
from benchrunner.results import Plugins
from benchrunner_protocols.protocol import Part, Protocol


def summary(protocol: Protocol) -> str:
    """Say in one line what a protocol is, with its source."""
    return f"{protocol.about} ({protocol.source})"


def facts(protocol: Protocol, plugins: Plugins) -> Iterator[tuple[str, str]]:
    """Yield everything that a protocol says, each with what it is about."""
    recipe = plugins.recipes.find(protocol.recipe)
    yield "source", protocol.source
    yield "recipe", f"{recipe.name}: {recipe.source}"
    yield from _values(recipe, protocol)
    if recipe.notes:
        yield "  not in the recipe", recipe.notes
    for part in protocol.parts:
        yield "tasks", ", ".join(part.tasks)
        yield from _of_part(part, protocol, plugins)
    yield "source of the grid", protocol.grid
    yield "source of the seeds", protocol.seeds
    yield "selection", protocol.selection
    yield "published", ", ".join(protocol.published) or "none"
    for said in protocol.missing:
        yield "not covered", said


def _values(recipe: NamedRecipe, protocol: Protocol) -> Iterator[tuple[str, str]]:
    """Yield the values of a recipe that concern the tasks of a protocol."""
    if recipe.values:
        yield "  every task", _fields(recipe.values)
    suites = {task.partition("/")[0] for task in protocol.tasks}
    for name, values in recipe.by_task.items():
        if name in suites or name in protocol.tasks:
            yield f"  {name}", _fields(values)


def _of_part(part: Part, protocol: Protocol, plugins: Plugins) -> Iterator[tuple[str, str]]:
    """Yield what a part of a protocol has in place of the recipe, and the number of its fits."""
    axes = protocol.axes(part, plugins)
    single = {name: values[0] for name, values in part.values.items() if name not in axes}
    if axes:
        yield "  grid", "; ".join(f"{name} {_listed(values)}" for name, values in axes.items())
    if single:
        yield "  in place of the recipe's", _fields(single)
    if part.starts_from:
        yield "  start", f"the selected fit to {part.starts_from}"
    seeds = protocol.options(part).seeds or ()
    points = protocol.points(part, plugins)
    yield "  fits of a task", f"{points * len(seeds)}: {points} grid point(s), seeds {_listed(seeds)}"


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))


def _fields(values: Mapping[str, object]) -> str:
    """Write recipe fields with their values."""
    return ", ".join(f"{name} {value}" for name, value in values.items())
