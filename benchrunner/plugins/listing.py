"""Everything that the plugins offer, by kind, with a line about each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from benchrunner.errors import RequestError
from benchrunner.io.decoding import as_json, fields_json, from_json
from benchrunner.io.toml_files import read_toml
from benchrunner.leaderboards.published import PublishedFigure
from benchrunner.methods.method import Method
from benchrunner.parameters.parameter import Value
from benchrunner.parameters.recipes import NamedRecipe
from benchrunner.plugins.registry import Plugins

KINDS = ("tasks", "backbones", "methods", "leaderboards", "executors", "recipes", "studies", "plugins")


@final
@dataclass(frozen=True)
class ListedParameter:
    """A parameter that a method declares, as `list methods` shows it."""

    name: str
    """`METHOD.NAME`, as `--set` takes it."""
    about: str
    default: Value
    values: str
    """Which values are possible, in words."""


@final
@dataclass(frozen=True)
class Listed:
    """A value that a plugin offers, as `list` shows it."""

    name: str
    about: str
    problem: str = ""
    """A task's kind of question."""
    method: str = ""
    """A task's own method."""
    method_reason: str = ""
    """Why a task's own method is not `finetune`."""
    url: str = ""
    """Where a leaderboard takes submissions."""
    published: tuple[PublishedFigure, ...] = ()
    """Every published figure that a leaderboard lists."""
    recipe: NamedRecipe | None = None
    """A named recipe with all its values."""
    parameters: tuple[ListedParameter, ...] = ()
    """A method's own parameters."""

    @property
    def systems(self) -> int:
        """The number of systems that a leaderboard lists published figures of."""
        return len({figure.row.name for figure in self.published})

    def as_json(self) -> dict[str, Any]:
        """Return what is not empty, as JSON values."""
        return fields_json(self, defaults=False) if self.recipe is None else as_json(self.recipe)


def list_offers(plugins: Plugins) -> dict[str, list[Listed]]:
    """List everything that the plugins offer: kind -> values. The kinds are `KINDS`."""
    offers: dict[str, list[Listed]] = {kind: [] for kind in KINDS}
    for task in plugins.tasks.values():
        listed = Listed(task.name, task.about, task.problem.name, task.method, task.method_reason)
        offers["tasks"].append(listed)
    for name, backbone in plugins.backbones.items():
        offers["backbones"].append(Listed(name, backbone.about))
    for method in plugins.methods.values():
        offers["methods"].append(Listed(method.name, method.about, parameters=_parameters(method)))
    for name, board in plugins.leaderboards.items():
        offers["leaderboards"].append(Listed(name, board.title, url=board.url, published=tuple(board.figures)))
    for name, executor in plugins.executors.items():
        offers["executors"].append(Listed(name, executor.about))
    for name, recipe in plugins.recipes.items():
        offers["recipes"].append(Listed(name, recipe.about, recipe=recipe))
    for name, path in plugins.studies.items():
        offers["studies"].append(Listed(name, _study_title(path)))
    for plugin in (plugins.core, *plugins.loaded):
        offers["plugins"].append(Listed(plugin.name, f"{plugin.distribution} {plugin.version}"))
    return offers


def _parameters(method: Method) -> tuple[ListedParameter, ...]:
    return tuple(
        ListedParameter(f"{method.name}.{own.name}", own.about, own.default, own.values_text)
        for own in method.parameters
    )


def _study_title(path: Path) -> str:
    """Read a study file's title; a broken file is listed with its error, so that the others are listed too."""
    try:
        return from_json(str, read_toml(path, RequestError).get("title"), f"{path}: title", RequestError)
    except RequestError as error:
        return f"cannot be used: {error}"
