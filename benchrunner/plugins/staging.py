"""Staging: collect everything that one plugin offers, and check it, before any of it is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pluggy

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.console.printing import value_text
from benchrunner.errors import PluginError
from benchrunner.fits.executor import Executor
from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner.methods.method import Method
from benchrunner.parameters.recipes import NamedRecipe
from benchrunner.plugins import hookspecs
from benchrunner.plugins.offers import Offer
from benchrunner.plugins.versions import Plugin
from benchrunner.tasks.task import Task

NAME_LENGTH = 200
"""The most characters of a name."""


TEXT, CLAIM, TEXTS = (str, "a text"), (bool, "True or False"), (tuple, "a tuple of texts")
"""Types of fields, and how a message names them."""


@dataclass(frozen=True)
class Kind:
    """A kind of value that plugins offer: its name, the hook that offers such values, and what they must have."""

    name: str
    hook: str
    value_type: type
    fields: Mapping[str, tuple[type, str]]
    """The fields that every command may show or read."""


KINDS = (
    Kind("task", "register_tasks", Task, {"about": TEXT, "method": TEXT, "method_reason": TEXT}),
    Kind(
        "method",
        "register_methods",
        Method,
        {
            "about": TEXT,
            "needs_backbone": CLAIM,
            "trains_encoder": CLAIM,
            "trains_in_steps": CLAIM,
            "exports": CLAIM,
            "recipe_fields": TEXTS,
            "training_fields": TEXTS,
            "recipe_defaults": (Mapping, "a mapping"),
        },
    ),
    Kind("leaderboard", "register_leaderboards", Leaderboard, {"title": TEXT, "url": TEXT, "note": TEXT}),
    Kind("executor", "register_executors", Executor, {"about": TEXT}),
    Kind("recipe", "register_recipes", NamedRecipe, {"about": TEXT, "source": TEXT, "notes": TEXT}),
)
BACKBONE = Kind("backbone", "", Backbone, {"about": TEXT})
"""Backbones are listed by the families that the hook `register_backbones` offers."""


@dataclass
class Staged:
    """Everything that one plugin offers, collected before any of it is used."""

    plugin: Plugin
    offers: list[Offer[Any]] = field(default_factory=list)
    families: list[Offer[BackboneFamily]] = field(default_factory=list)

    def add(self, kind: Kind, value: Any, family: BackboneFamily | None = None) -> None:
        """Stage a value; a `PluginError` if it cannot be used or its name is staged already."""
        name = getattr(value, "name", None)
        if not isinstance(name, str) or not name:
            raise PluginError(f"the {kind.name} {value_text(value)} has no name")
        if not name.isprintable() or name != name.strip() or len(name) > NAME_LENGTH:
            raise PluginError(
                f"the name of the {kind.name} {value_text(name)} must be short, without control characters"
            )
        for field_name, (field_type, described) in kind.fields.items():
            given = getattr(value, field_name, None)
            if not isinstance(given, field_type):
                raise PluginError(
                    f"the {kind.name} '{name}' needs {described} as its {field_name}, not {value_text(given)}"
                )
        if isinstance(value, Method):
            value.check_declared()
        if any((offer.kind, offer.name) == (kind.name, name) for offer in self.offers):
            raise PluginError(f"the {kind.name} '{name}' is there already, from {self.plugin.distribution}")
        self.offers.append(Offer(kind.name, name, value, self.plugin, family))

    def add_family(self, family: BackboneFamily) -> None:
        """Stage a family and the backbones that it lists."""
        if any(family.name == staged.name for staged in self.families):
            raise PluginError(f"two of its backbone families are named '{family.name}': give each its own `name`")
        self.families.append(Offer("family", family.name, family, self.plugin))
        for backbone in family.listed():
            self.add(BACKBONE, backbone, family)


def stage(plugin: Plugin, module: object) -> Staged:
    """Collect the values that a plugin's hooks give; a `PluginError` if one of them cannot be used."""
    manager = new_manager()
    manager.register(module, name=plugin.name)
    manager.check_pending()
    if not manager.get_hookcallers(module):
        raise PluginError("it has no hooks: is '@hookimpl' missing above them?")
    staged = Staged(plugin)
    for kind in KINDS:
        for value in _answers(manager, kind.hook, kind.value_type):
            staged.add(kind, value)
    for family in _answers(manager, "register_backbones", BackboneFamily):
        staged.add_family(family)
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
