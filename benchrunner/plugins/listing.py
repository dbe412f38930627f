"""Everything that the plugins offer, by kind, with a line about each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner.errors import RequestError
from benchrunner.io.decoding import from_json
from benchrunner.io.json_files import read_toml
from benchrunner.io.json_form import as_json, fields_json
from benchrunner.parameters.recipes import RECIPE_FIELDS
from benchrunner.plugins.registry import Plugins

if TYPE_CHECKING:
    from benchrunner.leaderboards.published import PublishedFigure
    from benchrunner.parameters.grids import NamedRecipe
    from benchrunner.parameters.parameter import Value

KINDS = (
    "tasks",
    "backbones",
    "methods",
    "leaderboards",
    "executors",
    "searches",
    "recipes",
    "options",
    "studies",
    "plugins",
)


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
    metric: str = ""
    """A task's headline metric."""
    language: str = ""
    """Language of a task's texts, where the task states it."""
    licence: str = ""
    """Licence of a task's data, where the task states it."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """Official numbers of rows of a task's splits."""
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

    def mentions(self, words: str) -> bool:
        """Whether the value's name or text has all these words."""
        text = f"{self.name} {self.about} {self.problem} {self.language}".lower()
        return all(word and word in text for word in words.lower().split(" "))

    def as_json(self) -> dict[str, Any]:
        """Return what is not empty, as JSON values."""
        return fields_json(self, defaults=False) if self.recipe is None else as_json(self.recipe)


def list_offers(plugins: Plugins, kinds: Iterable[str] = KINDS) -> dict[str, list[Listed]]:
    """List what the plugins offer: kind -> values. Only the hooks of these kinds are called."""
    listed = {}
    for kind in kinds:
        lister = _LISTS.get(kind)
        listed[kind] = list(lister(plugins) if lister else _about(getattr(plugins, kind)))
    return listed


def list_names(plugins: Plugins) -> dict[str, list[str]]:
    """List the names of everything that the plugins offer: kind -> names. What the values are is not looked at."""
    installed = [plugin.name for plugin in (plugins.core, *plugins.loaded)]
    others = {"options": RECIPE_FIELDS, "plugins": installed}
    return {kind: list(others.get(kind) or getattr(plugins, kind)) for kind in KINDS}


def _tasks(plugins: Plugins) -> Iterator[Listed]:
    for task in plugins.tasks.values():
        rows = {name: split.rows for name, split in task.splits.items() if split.rows is not None}
        yield Listed(
            task.name,
            task.about,
            problem=task.problem.name,
            metric=task.metrics[0].name,
            language=task.language,
            licence=task.licence,
            rows=rows,
            method=task.method,
            method_reason=task.method_reason,
        )


def _about(offers: Mapping[str, Any]) -> Iterator[Listed]:
    """Yield values of which only their lines are shown."""
    for name, value in offers.items():
        yield Listed(name, value.about)


def _methods(plugins: Plugins) -> Iterator[Listed]:
    for method in plugins.methods.values():
        yield Listed(
            method.name,
            method.about,
            parameters=tuple(
                ListedParameter(f"{method.name}.{own.name}", own.about, own.default, own.values_text)
                for own in method.parameters
            ),
        )


_LISTS: Mapping[str, Callable[[Plugins], Iterator[Listed]]] = {
    "tasks": _tasks,
    "methods": _methods,
    "leaderboards": lambda plugins: (
        Listed(name, board.title, url=board.url, published=tuple(board.figures))
        for name, board in plugins.leaderboards.items()
    ),
    "recipes": lambda plugins: (Listed(name, recipe.about, recipe=recipe) for name, recipe in plugins.recipes.items()),
    "options": lambda plugins: _about(RECIPE_FIELDS),
    "studies": lambda plugins: (Listed(name, _study_title(path)) for name, path in plugins.studies.items()),
    "plugins": lambda plugins: (
        Listed(plugin.name, f"{plugin.distribution} {plugin.version}") for plugin in (plugins.core, *plugins.loaded)
    ),
}


def _study_title(path: Path) -> str:
    """Read a study file's title; a broken file is listed with its error, so that the others are listed too."""
    try:
        return from_json(str, read_toml(path, RequestError).get("title"), f"{path}: title", RequestError)
    except RequestError as error:
        return f"cannot be used: {error}"
