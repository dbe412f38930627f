"""Staging: collect everything that one plugin offers, and check it, before any of it is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pluggy

from benchrunner.backbones.backbone import BackboneFamily
from benchrunner.console.printing import value_text
from benchrunner.errors import PluginError
from benchrunner.fits.executor import Executor
from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner.methods.method import Method
from benchrunner.parameters.method_parameters import check_declared
from benchrunner.parameters.named_recipes import NamedRecipe
from benchrunner.plugins import hookspecs
from benchrunner.plugins.versions import Plugin
from benchrunner.tasks.task import Task

_KINDS: dict[str, tuple[str, type]] = {
    "task": ("register_tasks", Task),
    "method": ("register_methods", Method),
    "leaderboard": ("register_leaderboards", Leaderboard),
    "executor": ("register_executors", Executor),
    "recipe": ("register_recipes", NamedRecipe),
}
"""Kind of value -> the hook that offers such values, and their type."""


_TEXT, _CLAIM = (str, "a text"), (bool, "True or False")
FIELDS: dict[str, dict[str, tuple[type, str]]] = {
    "task": {"about": _TEXT, "method": _TEXT, "method_reason": _TEXT},
    "method": {
        "about": _TEXT,
        **dict.fromkeys(("needs_backbone", "trains_encoder", "trains_in_steps", "exports"), _CLAIM),
        **dict.fromkeys(("recipe_fields", "training_fields"), (tuple, "a tuple of texts")),
        "recipe_defaults": (Mapping, "a mapping"),
    },
    "leaderboard": {"title": _TEXT, "url": _TEXT, "note": _TEXT},
    "executor": {"about": _TEXT},
    "recipe": {"about": _TEXT, "source": _TEXT, "notes": _TEXT},
    "backbone": {"about": _TEXT},
}
"""Kind of value -> the fields that every command may show or read, with their types and how a message names these."""
NAME_LENGTH = 200
"""The most characters of a name."""


@dataclass(frozen=True)
class Offer:
    """A value that a plugin offers under a name."""

    kind: str
    """`task`, `method`, `leaderboard`, `executor`, `recipe` or `backbone`."""
    name: str
    value: Any
    plugin: Plugin
    family: BackboneFamily | None = None
    """The family of a backbone."""


@dataclass
class Staged:
    """Everything that one plugin offers, collected before any of it is used."""

    plugin: Plugin
    offers: list[Offer] = field(default_factory=list)
    families: list[BackboneFamily] = field(default_factory=list)

    def add(self, kind: str, value: Any, family: BackboneFamily | None = None) -> None:
        """Stage a value; a `PluginError` if it has no name or its name is staged already."""
        name = getattr(value, "name", None)
        if not isinstance(name, str) or not name:
            raise PluginError(f"the {kind} {value_text(value)} has no name")
        if not name.isprintable() or name != name.strip() or len(name) > NAME_LENGTH:
            raise PluginError(f"the name of the {kind} {value_text(name)} must be short, without control characters")
        for field_name, (field_type, said) in FIELDS[kind].items():
            if not isinstance(field_value := getattr(value, field_name, None), field_type):
                raise PluginError(
                    f"the {kind} '{name}' needs {said} as its {field_name}, not {value_text(field_value)}"
                )
        if kind == "method":
            check_declared(value.parameters, name)
        if any((offer.kind, offer.name) == (kind, name) for offer in self.offers):
            raise PluginError(f"the {kind} '{name}' is there already, from {self.plugin.distribution}")
        self.offers.append(Offer(kind, name, value, self.plugin, family))


def stage(plugin: Plugin, module: object) -> Staged:
    """Collect the values that a plugin's hooks give; a `PluginError` if one of them cannot be used."""
    manager = new_manager()
    manager.register(module, name=plugin.name)
    manager.check_pending()
    if not manager.get_hookcallers(module):
        raise PluginError("it has no hooks: is '@hookimpl' missing above them?")
    staged = Staged(plugin)
    for kind, (hook, value_type) in _KINDS.items():
        for value in _answers(manager, hook, value_type):
            staged.add(kind, value)
    for family in _answers(manager, "register_backbones", BackboneFamily):
        if any(family.name == staged_family.name for staged_family in staged.families):
            raise PluginError(f"two of its backbone families are named '{family.name}': give each its own `name`")
        staged.families.append(family)
        for backbone in family.listed():
            staged.add("backbone", backbone, family)
    return staged


def new_manager() -> pluggy.PluginManager:
    """Return a plugin manager that knows the hooks and no plugin."""
    manager = pluggy.PluginManager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    return manager


def _answers(manager: pluggy.PluginManager, hook: str, value_type: type) -> Iterator[Any]:
    """Yield the values that the hook of a manager's only plugin gives."""
    for implementation in getattr(manager.hook, hook).get_hookimpls():
        values = implementation.function()
        if not isinstance(values, Iterable):
            raise PluginError(f"{hook} gave {value_text(values)}: yield values, or return a list of them")
        for value in values:
            if not isinstance(value, value_type):
                raise PluginError(f"{hook} gave {value_text(value)}, which is not a {value_type.__name__}")
            yield value
