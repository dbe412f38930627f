"""Registration of a plugin's hooks; what a hook gives is collected and checked before any of it is used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, final

import pluggy

from benchrunner.errors import PluginError, UnknownName
from benchrunner.io.messages import quoted
from benchrunner.plugins import hookspecs, observer_specs
from benchrunner.plugins.distributions import Plugin
from benchrunner.plugins.offered_values import Offer

if TYPE_CHECKING:
    from benchrunner.backbones.backbone import BackboneFamily

NAME_LENGTH = 200
"""The most characters of a name."""


DESCRIBED = {str: "a text", bool: "True or False", tuple: "a tuple of texts", Mapping: "a mapping"}
"""Types of fields, and how a message names them."""


@dataclass(frozen=True)
class Kind:
    """A kind of value that plugins offer: its name, the hook that offers such values, and what they must have."""

    name: str
    hook: str
    home: str
    """Module and name of the class of what the hook gives."""
    fields: Mapping[str, type]
    """The fields that every command may show or read."""

    def has(self, value: object) -> bool:
        """Return whether a hook of this kind may give a value. No class of a kind that nobody uses is imported."""
        return any(f"{base.__module__}.{base.__name__}" == self.home for base in type(value).__mro__)


METHOD_FIELDS = {
    "about": str,
    "needs_backbone": bool,
    "trains_encoder": bool,
    "trains_in_steps": bool,
    "exports": bool,
    "recipe_fields": tuple,
    "training_fields": tuple,
    "recipe_defaults": Mapping,
}
TASK = Kind(
    "task",
    "register_tasks",
    "benchrunner.tasks.task.Task",
    {"about": str, "method": str, "method_reason": str},
)
METHOD = Kind("method", "register_methods", "benchrunner.methods.method.Method", METHOD_FIELDS)
RECIPE = Kind(
    "recipe",
    "register_recipes",
    "benchrunner.parameters.grids.NamedRecipe",
    {"about": str, "source": str, "notes": str},
)
LEADERBOARD = Kind(
    "leaderboard",
    "register_leaderboards",
    "benchrunner.leaderboards.board.Board",
    {"title": str, "url": str, "note": str},
)
EXECUTOR = Kind("executor", "register_executors", "benchrunner.fits.executor.Executor", {"about": str})
SEARCH = Kind("search", "register_searches", "benchrunner.fits.search.Search", {"about": str, "has_trials": bool})
BACKBONE = Kind(
    "backbone",
    "register_backbones",
    "benchrunner.backbones.backbone.BackboneFamily",
    {"about": str},
)
"""Families of backbones; the backbones that they list are the values."""

KINDS = (TASK, METHOD, RECIPE, LEADERBOARD, EXECUTOR, SEARCH, BACKBONE)


@dataclass
class Staged:
    """Everything of one kind that one plugin offers, collected before any of it is used."""

    plugin: Plugin
    kind: Kind
    offers: list[Offer[Any]] = field(default_factory=list)
    families: list[Offer[BackboneFamily]] = field(default_factory=list)
    faults: list[PluginError] = field(default_factory=list)
    """What the hook gave in place of values that cannot be used, such as boards with a wrong key."""

    def take(self, values: object) -> None:
        """Stage the values that a hook gave; a `PluginError` if it gave anything but values of its kind."""
        if not isinstance(values, Iterable):
            raise PluginError(f"the hook gave {quoted(values)}: yield values, or return a list of them")
        for value in values:
            if isinstance(value, PluginError):
                self.faults.append(value)
            elif not self.kind.has(value):
                name = self.kind.home.rpartition(".")[2]
                raise PluginError(f"the hook gave {quoted(value)}, which is not a {name}: yield only values of {name}")
            elif self.kind is BACKBONE:
                self.add_family(value)
            else:
                self.add(value)

    def add(self, value: Any, family: BackboneFamily | None = None) -> None:
        """Stage a value; a `PluginError` if it cannot be used or a staged value has its name."""
        kind = self.kind
        name = getattr(value, "name", None)
        if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.strip()) == len(name) <= NAME_LENGTH:
            raise PluginError(
                f"the {kind.name} {quoted(value)} needs a short name without control characters, not {quoted(name)}"
            )
        for field_name, field_type in kind.fields.items():
            given = getattr(value, field_name, None)
            if not isinstance(given, field_type):
                raise PluginError(
                    f"the {kind.name} '{name}' needs {DESCRIBED[field_type]} as its {field_name}, not {quoted(given)}"
                )
        if kind is METHOD:
            value.check_declared()
        if any(offer.name == name for offer in self.offers):
            raise PluginError(f"two {kind.name}s have the name '{name}': give each its own name")
        self.offers.append(Offer(name, value, self.plugin, family))

    def add_family(self, family: BackboneFamily) -> None:
        """Stage a family and the backbones that it lists."""
        if any(family.name == staged.name for staged in self.families):
            raise PluginError(f"two backbone families have the name '{family.name}': give each its own `name`")
        self.families.append(Offer(family.name, family, self.plugin))
        for backbone in family.listed():
            self.add(backbone, family)


def stage(plugin: Plugin, hooks: pluggy.HookRelay, kind: Kind) -> Staged:
    """Collect the values of a kind that a plugin's hook gives; a `PluginError` if one of them cannot be used."""
    staged = Staged(plugin, kind)
    for implementation in getattr(hooks, kind.hook).get_hookimpls():
        if implementation.plugin_name == plugin.name:
            staged.take(implementation.function())
    return staged


def register(plugin: Plugin, module: object, manager: pluggy.PluginManager) -> None:
    """Register the hooks of a plugin, or none of them.

    Raises an error, also one of pluggy, for unknown hooks, other arguments, and a hook without `@hookimpl`. A plugin
    may have no hooks: files name its classes and metrics.
    """
    known = [name for name, caller in vars(manager.hook).items() if caller.has_spec()]
    try:
        manager.register(module, name=plugin.name)
        callers = manager.get_hookcallers(module) or []
        for caller in callers:
            if not caller.has_spec():
                raise UnknownName("hook", caller.name, known)
        if not callers and any(name in known or name.startswith("register_") for name in dir(module)):
            raise PluginError("it has no hooks: is '@hookimpl' missing above them?")
    except BaseException:
        if manager.has_plugin(plugin.name):
            manager.unregister(name=plugin.name)
        raise


@final
class _Manager(pluggy.PluginManager):
    """A plugin manager that looks for hooks only among the functions of a module: pluggy looks at every name.

    It names an argument that a hook does not have.
    """

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if isinstance(plugin, ModuleType) and not isinstance(vars(plugin).get(name), FunctionType | MethodType):
            return None
        return super().parse_hookimpl_opts(plugin, name)

    def _verify_hook(self, hook: pluggy.HookCaller, hookimpl: pluggy.HookImpl) -> None:
        known = hook.spec.argnames if hook.spec else hookimpl.argnames
        for name in hookimpl.argnames:
            if name not in known:
                takes = f"it takes {', '.join(known) or 'no arguments'}"
                raise PluginError(f"the hook {hook.name} has no argument '{name}': {takes}")
        super()._verify_hook(hook, hookimpl)


def new_manager() -> pluggy.PluginManager:
    """Return a plugin manager that knows the hooks and no plugin."""
    manager = _Manager(hookspecs.GROUP)
    manager.add_hookspecs(hookspecs)
    manager.add_hookspecs(observer_specs)
    return manager
