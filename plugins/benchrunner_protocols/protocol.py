"""Protocols as values: a named recipe with the grid, the seeds, the tasks and the selection of a publication."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from benchrunner.results import Plugins, StudyOptions


@final
@dataclass(frozen=True)
class Part:
    """Tasks of a protocol that are fitted in the same way."""

    tasks: tuple[str, ...]
    grid: str = ""
    """Name of the recipe whose grid dev selects from; empty for none but that of `values`."""
    values: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Recipe field -> values in place of the recipe's; dev selects from several."""
    seeds: int = 1
    """Number of restarts, with the seeds 0, 1, ... or `Protocol.first_seed` and those after it."""
    starts_from: str = ""
    """Task of the protocol whose selected fit is the start of all fits; empty for the backbone itself."""


@final
@dataclass(frozen=True)
class Protocol:
    """How a publication fine-tuned and selected: a recipe by name, and everything that is not a hyper-parameter."""

    name: str
    about: str
    source: str
    """Publication with its table or section, or released code, of what the recipe does not say."""
    recipe: str
    """Name of a recipe of 'benchrunner list recipes', which has its own source."""
    parts: tuple[Part, ...]
    grid: str
    """Source of the grid, or why there is none."""
    seeds: str
    """Source of the number of seeds, or that it is not stated."""
    selection: str
    """What the publication selects and reports."""
    missing: tuple[str, ...] = ()
    """What the protocol of the publication has and this one has not."""
    published: tuple[str, ...] = ()
    """Systems of 'benchrunner list leaderboards' whose published figures stand beside ours."""
    first_seed: int = 0

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of all tasks."""
        return tuple(task for part in self.parts for task in part.tasks)

    @property
    def statement(self) -> str:
        """What a reader of our figures must know."""
        said = [f"protocol: {self.source}", f"selection: {self.selection}"]
        if self.missing:
            said.append(f"not covered: {'; '.join(self.missing)}")
        return "; ".join(said)

    def part_of(self, task: str) -> Part:
        """Return the part that has a task."""
        return next(part for part in self.parts if task in part.tasks)

    def options(self, part: Part) -> StudyOptions:
        """Return how the fits of a part are made, as options of a study."""
        seeds = tuple(range(self.first_seed, self.first_seed + part.seeds))
        return StudyOptions(recipe=part.values, preset=self.recipe, grid=part.grid or None, seeds=seeds)

    def axes(self, part: Part, plugins: Plugins) -> dict[str, Sequence[Any]]:
        """Return the values of a part that dev selects from, by recipe field."""
        axes = dict(plugins.grid(part.grid)) if part.grid else {}
        axes |= part.values
        return {name: values for name, values in axes.items() if len(values) > 1}

    def points(self, part: Part, plugins: Plugins) -> int:
        """Count the grid points of a part."""
        return math.prod(len(values) for values in self.axes(part, plugins).values())
