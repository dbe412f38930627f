"""Everything that the plugins offer, by kind, with a line about each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner.errors import RequestError
from benchrunner.io.decoding import from_json
from benchrunner.io.json_files import read_toml
from benchrunner.io.json_form import fields_json
from benchrunner.parameters.recipes import RECIPE_FIELDS
from benchrunner.plugins.registry import Plugins

if TYPE_CHECKING:
    from benchrunner.methods.method import Method
    from benchrunner.tasks.task import Task

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
    """Key of JSON -> what else is known, such as a task's headline metric; a recipe has all its values."""

    def mentions(self, words: str) -> bool:
        """Whether the value's name or text has all these words."""
        facts = self.facts
        text = f"{self.name} {self.about} {facts.get('problem', '')} {facts.get('language', '')}".lower()
        return all(word and word in text for word in words.lower().split(" "))

    def as_json(self) -> dict[str, Any]:
        """Return the keys of the value in JSON."""
        return {"name": self.name, "about": self.about, **self.facts}


def list_offers(plugins: Plugins, kinds: Iterable[str] = KINDS) -> dict[str, list[Listed]]:
    """List what the plugins offer: kind -> values. Only the hooks of these kinds are called."""
    listed = dict[str, list[Listed]]()
    for kind in kinds:
        about = _ABOUT.get(kind, attrgetter("about"))
        facts_of = _FACTS.get(kind, lambda value: {})
        listed[kind] = []
        for name, value in _values(plugins, kind).items():
            # Of other kinds than recipes, values such as 0 and False are left out.
            facts = {key: fact for key, fact in facts_of(value).items() if fact or kind == "recipes"}
            listed[kind].append(Listed(name, about(value), facts))
    return listed


def list_names(plugins: Plugins) -> dict[str, list[str]]:
    """List the names of everything that the plugins offer: kind -> names. What the values are is not looked at."""
    return {kind: list(_values(plugins, kind)) for kind in KINDS}


def _values(plugins: Plugins, kind: str) -> Any:
    """Return the values of a kind by their names."""
    if kind == "options":
        return RECIPE_FIELDS
    if kind == "plugins":
        return {plugin.name: plugin for plugin in (plugins.core, *plugins.loaded)}
    return getattr(plugins, kind)


def _of_task(task: Task) -> dict[str, Any]:
    return {
        "problem": task.problem.name,
        "metric": task.metrics[0].name,
        "language": task.language,
        "licence": task.licence,
        "rows": {name: split.rows for name, split in task.splits.items() if split.rows is not None},
        "method": task.method,
        "method_reason": task.method_reason,
    }


def _of_method(method: Method) -> dict[str, Any]:
    parameters = []
    for own in method.parameters:
        name = f"{method.name}.{own.name}"
        parameters.append({"name": name, "about": own.about, "default": own.default, "values": own.values_text})
    return {"parameters": parameters}


def _study_title(path: Path) -> str:
    """Read a study file's title; a broken file is listed with its error, so that the others are listed too."""
    try:
        return from_json(str, read_toml(path, RequestError).get("title"), f"{path}: title", RequestError)
    except RequestError as error:
        return f"cannot be used: {error}"


_ABOUT: Mapping[str, Callable[[Any], str]] = {
    "leaderboards": attrgetter("title"),
    "studies": _study_title,
    "plugins": lambda plugin: f"{plugin.distribution} {plugin.version}",
}
"""Kind -> what a value is in a few words; else its attribute `about` says so."""
_FACTS: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {
    "tasks": _of_task,
    "methods": _of_method,
    "leaderboards": lambda board: {"url": board.url, "published": list(board.figures)},
    "recipes": fields_json,
}
"""Kind -> the facts of a value."""
