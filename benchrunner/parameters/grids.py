"""Grids of recipes: values to try for some hyper-parameters, and published values that have a name."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from benchrunner.errors import PluginError, RequestError
from benchrunner.parameters.recipes import RECIPE_FIELDS, Recipe, check_fields

MOST_POINTS = 100_000
"""Largest number of recipes in a grid."""

GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "paper": {"lr": (5e-5, 4e-5, 3e-5, 2e-5)},
    "paper-appendix": {"batch_size": (16, 32), "lr": (5e-5, 3e-5, 2e-5), "epochs": (2, 3, 4)},
}
"""Named grids of Devlin et al. 2019: `paper` as for their Table 1, `paper-appendix` as recommended in A.3."""


@dataclass(frozen=True)
class Grid:
    """Values to try for some fields of a recipe; every combination is one recipe."""

    choices: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self.choices)
        for name, values in self.choices.items():
            if not values:
                raise RequestError(f"The grid's list for '{name}' is empty.")
        if self.size > MOST_POINTS:
            raise RequestError(
                f"The grid has {self.size:,} combinations of {', '.join(self.choices)}; at most "
                f"{MOST_POINTS:,} are possible. Give fewer values."
            )

    @property
    def size(self) -> int:
        """Number of combinations."""
        return math.prod(len(dict.fromkeys(values)) for values in self.choices.values())

    def points(self, base: Recipe) -> Iterator[Recipe]:
        """Give every combination as a recipe, in the order of the given values."""
        different = [dict.fromkeys(values) for values in self.choices.values()]
        for values in itertools.product(*different):
            yield base.changed(**dict(zip(self.choices, values, strict=True)))


@final
@dataclass(frozen=True)
class NamedRecipe:
    """Hyper-parameters of a publication, which replace those of a task where a user names them (`--recipe`).

    Options that the user gives replace the values of a named recipe. Fields that it does not set stay as in the recipe
    of the task.
    """

    name: str
    about: str
    source: str
    """Publication with its table or section, or released code."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Recipe field -> value for every task."""
    by_task: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name of a task or of a suite -> recipe fields that replace `values` there; a task's fields come after a
    suite's."""
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Recipe field -> values among which the publication searched: `--grid` with the recipe's name tries them all."""
    notes: str = ""
    """What the publication did and the recipe cannot express."""

    def __post_init__(self) -> None:
        for name in ("name", "about", "source"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise PluginError(f"The recipe {self.name!r} needs a text as its `{name}`.")
        try:
            for values in (self.values, *self.by_task.values()):
                _check_published(values)
            Grid(self.grid)
            for name, choices in self.grid.items():
                for value in choices:
                    _check_published({name: value})
        except RequestError as reason:
            raise PluginError(f"The recipe '{self.name}': {reason}") from None

    def values_for(self, task: str) -> dict[str, Any]:
        """Return the recipe fields for the task of this name."""
        suite = task.partition("/")[0]
        values = dict(self.values)
        for name in (suite, task):
            values |= self.by_task.get(name, {})
        return values


def _check_published(values: Mapping[str, Any]) -> None:
    """Raise a `RequestError` if a recipe cannot have these values, or if a field is not for named recipes."""
    Recipe.from_json(values)
    forbidden = [name for name in values if name in RECIPE_FIELDS and not RECIPE_FIELDS[name].in_grid]
    if forbidden:
        raise RequestError(f"A named recipe cannot set {', '.join(forbidden)}.")
