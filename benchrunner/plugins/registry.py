"""Registry of everything that the plugins offer, by name."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.console.printing import message_of
from benchrunner.errors import BenchrunnerError, PluginError, RequestError, UnknownName
from benchrunner.fits.executor import Executor
from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner.leaderboards.published import check_columns
from benchrunner.methods.method import Method
from benchrunner.parameters.named_recipes import NamedRecipe
from benchrunner.parameters.recipes import GRIDS
from benchrunner.plugin_code import PluginCode, reason
from benchrunner.plugins.backbone_search import BackboneSearch
from benchrunner.plugins.names import meant, split_prefix
from benchrunner.plugins.staging import Offer, Staged, new_manager, stage
from benchrunner.plugins.versions import Plugin, top_package
from benchrunner.tasks.task import Task
from benchrunner.workspace import Workspace

RENAMED = ("task", "method", "recipe")
"""Kinds of values whose names fits and records keep: a value with a contested name gets the name `PLUGIN:NAME`."""


@dataclass(frozen=True)
class SetAside:
    """A plugin that cannot be used, or a part of it, with the reason."""

    plugin: str
    reason: str
    is_contested: bool = False
    """Whether this is a name that several plugins offer, while everything else that they offer is used."""

    @property
    def text(self) -> str:
        """What commands say about it."""
        return self.reason if self.is_contested else f"plugin {self.plugin} is set aside: {self.reason}"


class Plugins:
    """Everything that the plugins offer, by name. `discover` makes it once, and it is passed along.

    A name that several plugins offer is contested: alone it means no value, and `PLUGIN:NAME` means that of a plugin.
    """

    def __init__(self, core: Plugin) -> None:
        self.core = core
        self.manager = new_manager()
        self.loaded: list[Plugin] = []
        """Every plugin in use except the core's own."""
        self.families: list[BackboneFamily] = []
        self.are_installed = False
        """Whether `discover` finds the same plugins in another process on this machine."""
        self._failures: list[SetAside] = []
        self._offers: dict[tuple[str, str], list[Offer]] = {}
        self._copies: dict[tuple[str, str], Offer] = {}
        self._by_kind: dict[str, dict[str, Any]] = {}
        self._family_plugins: list[tuple[BackboneFamily, Plugin]] = []
        self._packages: dict[str, Plugin] = {}

    @property
    def hook(self) -> pluggy.HookRelay:
        return self.manager.hook

    @property
    def set_aside(self) -> list[SetAside]:
        """Plugins that could not be used, then names that several plugins offer."""
        return [*self._failures, *(_conflict(offers) for offers in self._offers.values() if len(offers) > 1)]

    @property
    def tasks(self) -> dict[str, Task]:
        return dict(sorted(self._values("task").items()))

    @property
    def methods(self) -> dict[str, Method]:
        return dict(sorted(self._values("method").items()))

    @property
    def leaderboards(self) -> dict[str, Leaderboard]:
        return dict(sorted(self._values("leaderboard").items()))

    @property
    def executors(self) -> dict[str, Executor]:
        return dict(sorted(self._values("executor").items()))

    @property
    def recipes(self) -> dict[str, NamedRecipe]:
        return dict(sorted(self._values("recipe").items()))

    @property
    def studies(self) -> dict[str, Path]:
        """Study files in the folders `studies` of the plugins' packages, by `plugin/file`."""
        studies: dict[str, Path] = {}
        for plugin in self.loaded:
            package = sys.modules.get(getattr(self.manager.get_plugin(plugin.name), "__package__", None) or "")
            for folder in getattr(package, "__path__", ()):
                files = Path(folder, "studies").glob("*.toml")
                studies |= {f"{plugin.name}/{file.stem}": file for file in files}
        return dict(sorted(studies.items()))

    @property
    def backbones(self) -> dict[str, Backbone]:
        """Backbones with names of their own, in the order in which their families list them."""
        return dict(self._values("backbone"))

    def _values(self, kind: str) -> dict[str, Any]:
        """Return the values of one kind: name -> value, or `PLUGIN:NAME` -> value where a name is contested.

        Backbones with contested names are left out: the search for backbones finds them.
        """
        if kind not in self._by_kind:
            self._by_kind[kind] = self._collected(kind)
        return self._by_kind[kind]

    def _collected(self, kind: str) -> dict[str, Any]:
        """Collect the values of one kind from the offers."""
        values = {}
        for (of, name), offers in self._offers.items():
            if of == kind and len(offers) == 1:
                values[name] = offers[0].value
            elif of == kind and kind != "backbone":
                values |= {f"{offer.plugin.name}:{name}": self._renamed(offer) for offer in offers}
        return values

    def _renamed(self, offer: Offer) -> Any:
        """Return a copy of a contested value under the name `PLUGIN:NAME`, which fits and records keep."""
        if offer.kind not in RENAMED:
            return offer.value
        key = (offer.kind, f"{offer.plugin.name}:{offer.name}")
        if key not in self._copies:
            value = copy.copy(offer.value)
            object.__setattr__(value, "name", key[1])  # values are frozen
            self._copies[key] = replace(offer, value=value)
        return self._copies[key].value

    def fail(self, plugin: str, error: BaseException, where: str = "") -> None:
        """Set a plugin, or a part of it, aside because of an error."""
        text = " ".join(message_of(error).split()) if isinstance(error, BenchrunnerError) else reason(error)
        self._failures.append(SetAside(plugin, f"{where}{text}"))

    def add(self, plugin: Plugin, module: object) -> None:
        """Take everything that a plugin offers; set the whole plugin aside if any part of it fails.

        The offers are staged first, so a plugin that fails leaves nothing behind but its imported modules.
        """
        if namesake := next((known for known in (self.core, *self.loaded) if known.name == plugin.name), None):
            text = f"{namesake.distribution} has a plugin of that name already, so that of {plugin.distribution}"
            self._failures.append(SetAside(plugin.name, f"{text} is not used"))
            return
        self.are_installed = False
        try:
            with PluginCode():
                self._merge(self._staged(plugin, module), module)
        except BenchrunnerError as error:
            self.fail(plugin.name, error)
        else:
            self.loaded.append(plugin)
            if isinstance(module, ModuleType):
                self._packages[top_package(module.__name__)] = plugin

    def set_wrong_leaderboards_aside(self) -> None:
        """Set leaderboards aside whose columns name a task, metric or split that the tasks of all plugins lack."""
        boards = [offer for offers in self._offers.values() for offer in offers if offer.kind == "leaderboard"]
        for offer in boards:
            try:
                with PluginCode():
                    check_columns(offer.value.columns, self.tasks, self._names("task"))
            except BenchrunnerError as error:
                self._offers[offer.kind, offer.name].remove(offer)
                place = offer.value.origin or f"leaderboard {offer.name}"
                self._failures.append(SetAside(offer.plugin.name, f"{place}: {message_of(error)}"))
        self._offers = {key: offers for key, offers in self._offers.items() if offers}
        self._by_kind.clear()

    def add_core(self, module: object) -> None:
        """Take the offers of benchrunner's own plugin; its errors are bugs and are raised."""
        self._merge(self._staged(self.core, module), module)

    def _staged(self, plugin: Plugin, module: object) -> Staged:
        """Stage a plugin's offers; a `PluginError` if the core has a value of the same kind and name."""
        staged = stage(plugin, module)
        for offer in staged.offers:
            if any(known.plugin is self.core for known in self._offers.get((offer.kind, offer.name), ())):
                raise PluginError(f"the {offer.kind} '{offer.name}' is there already, from {self.core.distribution}")
        return staged

    def _merge(self, staged: Staged, module: object) -> None:
        self.manager.register(module, name=staged.plugin.name)
        for offer in staged.offers:
            self._offers.setdefault((offer.kind, offer.name), []).append(offer)
        self._by_kind.clear()
        self.families += staged.families
        self._family_plugins += [(family, staged.plugin) for family in staged.families]

    def supplier(self, value: object) -> Plugin:
        """Return the plugin that offers a value, for example a task or a family; the core for other values."""
        offers = [*(offer for offers in self._offers.values() for offer in offers), *self._copies.values()]
        suppliers = [(offer.value, offer.plugin) for offer in offers] + self._family_plugins
        return next((plugin for offered, plugin in suppliers if offered is value), self.core)

    def plugin_of_package(self, package: str) -> Plugin | None:
        """Return the plugin whose code is in a package of this name; None if there is none."""
        return self._packages.get(package)

    def suppliers_of(self, task: Task) -> list[Plugin]:
        """Return the plugins whose code a task runs: its own, and those of its problem and its sources."""
        sources = [source for split in task.splits.values() for source in split.sources]
        parts = [task.problem, *sources, *(getattr(source, "source", None) for source in sources)]
        packages = dict.fromkeys(top_package(type(part).__module__) for part in parts)
        return [self.supplier(task), *(self._packages[name] for name in packages if name in self._packages)]

    def task(self, name: str) -> Task:
        """Return a task by its name, or by the last part of the name."""
        task: Task = self._named("task", name)
        return task

    def method(self, name: str) -> Method:
        """Return a method by its name."""
        method: Method = self._named("method", name)
        return method

    def leaderboard(self, name: str) -> Leaderboard:
        """Return a leaderboard by its name."""
        leaderboard: Leaderboard = self._named("leaderboard", name)
        return leaderboard

    def executor(self, name: str) -> Executor:
        """Return an executor by its name."""
        executor: Executor = self._named("executor", name)
        return executor

    def recipe(self, name: str) -> NamedRecipe:
        """Return a named recipe by its name."""
        recipe: NamedRecipe = self._named("recipe", name)
        return recipe

    def grid(self, name: str) -> Mapping[str, Sequence[Any]]:
        """Return the values of a grid by its name: one of `GRIDS`, or the grid of a named recipe."""
        if name not in self.grids:
            raise UnknownName("grid", name, self.grids)
        return GRIDS[name] if name in GRIDS else self.recipe(name).grid

    @property
    def grids(self) -> list[str]:
        """Names of all grids."""
        return [*GRIDS, *(recipe.name for recipe in self.recipes.values() if recipe.grid)]

    def study(self, name: str) -> tuple[str, Path]:
        """Return the name and the path of a study file, by its name, the last part of the name, or its path."""
        if name.endswith(".toml"):
            return name, Path(name)
        known = self.studies
        full = meant(name, known)
        if full is None:
            raise UnknownName("study", name, known, "The path of a .toml file is understood as well.")
        return full, known[full]

    def _named(self, kind: str, name: str) -> Any:
        full = self._full_name(kind, name)
        if full is None:
            raise UnknownName(kind, name, self._values(kind))
        return self._values(kind)[full]

    def _names(self, kind: str, plugin: str | None = None) -> list[str]:
        """Return every name of a kind that a plugin offers, or that any does; contested names included."""
        return [
            name
            for (of, name), offers in self._offers.items()
            if of == kind and (plugin is None or any(offer.plugin.name == plugin for offer in offers))
        ]

    def _full_name(self, kind: str, name: str) -> str | None:
        """Return the full name for a name, its last part or `PLUGIN:NAME`, or None; contested names are an error."""
        plugin, own_name = split_prefix(name, [known.name for known in self.loaded])
        full = meant(own_name, self._names(kind, plugin))
        offers = self._offers[kind, full] if full is not None else []
        if len(offers) == 1:
            return full
        if plugin is not None and full is not None:
            return f"{plugin}:{full}"
        if offers:
            raise RequestError(f"{_contest(offers)}.")
        return None

    def tasks_of(self, names: Iterable[str]) -> list[Task]:
        """Return tasks by name, short name or name of their suite; each once, in the order of the names."""
        tasks: dict[str, Task] = {}
        for name in names:
            plugin, suite = split_prefix(name, [known.name for known in self.loaded])
            known, prefix = self._names("task", plugin), "" if plugin is None else f"{plugin}:"
            members = sorted(full for full in known if full.split("/", 1)[0] == suite)
            if not members and self._full_name("task", name) is None:
                raise UnknownName("task", name, {*known, *(full.split("/", 1)[0] for full in known)})
            for full in [f"{prefix}{member}" for member in members] or [name]:
                task = self.task(full)
                tasks[task.name] = task
        return list(tasks.values())

    def backbone(self, reference: str, workspace: Workspace) -> tuple[Backbone, BackboneFamily]:
        """Return the backbone that a name, path, hub id or `PLUGIN:REFERENCE` means, and the family that loads it."""
        return self.backbone_search.find(reference, workspace)

    @property
    def backbone_search(self) -> BackboneSearch:
        """The search for backbones among the offers of all plugins."""
        offers = {name: offers for (kind, name), offers in self._offers.items() if kind == "backbone"}
        idle = {failure.plugin: f"it is set aside ({failure.reason})" for failure in self._failures}
        idle |= {plugin.name: "it brings other things" for plugin in self.loaded}
        return BackboneSearch(offers, self.families, idle, self.supplier)


def _conflict(offers: Sequence[Offer]) -> SetAside:
    return SetAside(_claims(offers), f"{_contest(offers)}, or uninstall one of them", is_contested=True)


def _contest(offers: Sequence[Offer]) -> str:
    """Say which plugins offer a name, and how a user says which is meant."""
    kind, name = offers[0].kind, offers[0].name
    choices = " or ".join(f"{offer.plugin.name}:{name}" for offer in offers)
    return f"The {kind} '{name}' is offered by the plugins {_claims(offers)}: say which, {choices}"


def _claims(offers: Sequence[Offer]) -> str:
    return " and ".join(offer.plugin.name for offer in offers)
