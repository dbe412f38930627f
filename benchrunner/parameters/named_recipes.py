"""Named recipes: published hyper-parameters that users choose by name, with their source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from benchrunner.errors import PluginError, RequestError
from benchrunner.parameters.recipes import Grid, Recipe, check_fields

OF_THE_MACHINE = ("precision", "micro_tokens", "limit_train", "sample")
"""Recipe fields that a named recipe cannot set: they belong to the machine and to the user's data."""


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
                _check(values)
            Grid(self.grid)
            for name, choices in self.grid.items():
                for value in choices:
                    _check({name: value})
        except RequestError as reason:
            raise PluginError(f"The recipe '{self.name}': {reason}") from None

    def values_for(self, task: str) -> dict[str, Any]:
        """Return the recipe fields for the task of this name."""
        suite = task.partition("/")[0]
        return {**self.values, **self.by_task.get(suite, {}), **self.by_task.get(task, {})}

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        grid = {name: list(values) for name, values in self.grid.items()}
        by_task = {task: dict(values) for task, values in self.by_task.items()}
        return {**vars(self), "values": dict(self.values), "by_task": by_task, "grid": grid}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> NamedRecipe:
        """Make a named recipe from what `as_dict` gives."""
        return cls(**{**data, "grid": {name: tuple(values) for name, values in data["grid"].items()}})


def _check(values: Mapping[str, Any]) -> None:
    """Raise a `RequestError` if a recipe cannot have these values, or if a field is not for named recipes."""
    check_fields(values)
    Recipe.from_dict(values)
    if forbidden := [name for name in values if name in OF_THE_MACHINE]:
        raise RequestError(f"A named recipe cannot set {', '.join(forbidden)}.")
