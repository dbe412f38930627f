"""Everything that the plugins offer, by kind, with a line about each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from benchrunner.errors import RequestError
from benchrunner.io.decoding import from_json
from benchrunner.io.json_files import read_toml
from benchrunner.io.json_form import as_json, fields_json
from benchrunner.parameters.recipes import RECIPE_FIELDS
from benchrunner.plugins.registry import Plugins

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
class Listed:
    """A value that a plugin offers, as `list` shows it."""

    name: str
    about: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Key of JSON -> what else is known, such as a task's headline metric, without what is empty."""

    def mentions(self, words: str) -> bool:
        """Whether the value's name or text has all these words."""
        facts = self.facts
        text = f"{self.name} {self.about} {facts.get('problem', '')} {facts.get('language', '')}".lower()
        return all(word and word in text for word in words.lower().split(" "))

    def as_json(self) -> dict[str, Any]:
        """Return the value as JSON values."""
        values: dict[str, Any] = as_json({"name": self.name, "about": self.about, **self.facts})
        return values


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
        facts = {
            "problem": task.problem.name,
            "metric": task.metrics[0].name,
            "language": task.language,
            "licence": task.licence,
            "rows": {name: split.rows for name, split in task.splits.items() if split.rows is not None},
            "method": task.method,
            "method_reason": task.method_reason,
        }
        yield Listed(task.name, task.about, _filled(facts))


def _filled(facts: Mapping[str, Any]) -> Mapping[str, Any]:
    return {key: value for key, value in facts.items() if value}


def _about(offers: Mapping[str, Any]) -> Iterator[Listed]:
    """Yield values of which only their lines are shown."""
    for name, value in offers.items():
        yield Listed(name, value.about)


def _methods(plugins: Plugins) -> Iterator[Listed]:
    for method in plugins.methods.values():
        parameters = []
        for own in method.parameters:
            name = f"{method.name}.{own.name}"
            parameters.append({"name": name, "about": own.about, "default": own.default, "values": own.values_text})
        yield Listed(method.name, method.about, _filled({"parameters": parameters}))


def _leaderboards(plugins: Plugins) -> Iterator[Listed]:
    for name, board in plugins.leaderboards.items():
        yield Listed(name, board.title, _filled({"url": board.url, "published": list(board.figures)}))


_LISTS: Mapping[str, Callable[[Plugins], Iterator[Listed]]] = {
    "tasks": _tasks,
    "methods": _methods,
    "leaderboards": _leaderboards,
    "recipes": lambda plugins: (
        Listed(name, recipe.about, fields_json(recipe)) for name, recipe in plugins.recipes.items()
    ),
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
