"""Registry of everything that the plugins offer, by name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pluggy

from benchrunner.backbones.backbone import Backbone, BackboneFamily
from benchrunner.errors import BenchrunnerError, PluginError, UnknownName
from benchrunner.fits.executor import Executor
from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner.methods.method import Method
from benchrunner.parameters.recipes import GRIDS, NamedRecipe
from benchrunner.plugin_code import PluginCode, reason
from benchrunner.plugins.backbone_search import BackboneSearch
from benchrunner.plugins.offers import Offer, Offers, claims, contest, meant, unknown_name
from benchrunner.plugins.staging import new_manager, stage
from benchrunner.plugins.versions import Plugin, top_package
from benchrunner.tasks.task import Task


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
    """Everything that the plugins offer, by name. `discover` makes it once, and it is passed along."""

    def __init__(self, core: Plugin) -> None:
        self.core = core
        self.manager = new_manager()
        self.loaded: list[Plugin] = []
        """Every plugin in use except the core's own."""
        self.tasks = Offers[Task]("task", renames=True)
        self.methods = Offers[Method]("method", renames=True)
        self.recipes = Offers[NamedRecipe]("recipe", renames=True)
        self.leaderboards = Offers[Leaderboard]("leaderboard")
        self.executors = Offers[Executor]("executor")
        self.backbones = Offers[Backbone]("backbone", is_sorted=False)
        """The listed backbones. `backbone_search` finds others, too."""
        self.are_installed = False
        """Whether `discover` finds the same plugins in another process on this machine."""
        kinds: tuple[Offers[Any], ...] = (
            *(self.tasks, self.methods, self.recipes),
            *(self.leaderboards, self.executors, self.backbones),
        )
        self._kinds = {offers.kind: offers for offers in kinds}
        self._families: list[Offer[BackboneFamily]] = []
        self._failures: list[SetAside] = []
        self._packages: dict[str, Plugin] = {}

    @property
    def hook(self) -> pluggy.HookRelay:
        return self.manager.hook

    @property
    def families(self) -> list[BackboneFamily]:
        """All families of backbones, in the order in which they are asked for a backbone."""
        return [offer.value for offer in self._families]

    @property
    def set_aside(self) -> list[SetAside]:
        """Plugins that could not be used, then names that several plugins offer."""
        parts = list(self._failures)
        for kind in self._kinds.values():
            for offers in kind.contests:
                remedy = f"{contest(offers)}, or uninstall one of them"
                parts.append(SetAside(claims(offers), remedy, is_contested=True))
        return parts

    @property
    def studies(self) -> dict[str, Path]:
        """Study files in the folders `studies` of the plugins' packages, by `plugin/file`."""
        studies: dict[str, Path] = {}
        for plugin in self.loaded:
            package = sys.modules.get(getattr(self.manager.get_plugin(plugin.name), "__package__", None) or "")
            for folder in getattr(package, "__path__", ()):
                for file in Path(folder, "studies").glob("*.toml"):
                    studies[f"{plugin.name}/{file.stem}"] = file
        return dict(sorted(studies.items()))

    @property
    def backbone_search(self) -> BackboneSearch:
        """The search for backbones among the offers of all plugins."""
        idle = {failure.plugin: f"it is set aside ({failure.reason})" for failure in self._failures}
        idle |= {plugin.name: "it brings other things" for plugin in self.loaded}
        for family in self._families:
            if not family.value.prefix:
                idle.pop(family.plugin.name, None)
        return BackboneSearch(self.backbones, self._families, idle)

    def fail(self, plugin: str, error: BaseException, where: str = "") -> None:
        """Set a plugin, or a part of it, aside because of an error."""
        text = " ".join(str(error).split()) if isinstance(error, BenchrunnerError) else reason(error)
        self._failures.append(SetAside(plugin, f"{where}{text}"))

    def add(self, plugin: Plugin, module: object) -> None:
        """Take everything that a plugin offers; set the whole plugin aside if any part of it fails.

        The offers are staged first, so a plugin that fails leaves nothing behind but its imported modules.
        """
        for known in (self.core, *self.loaded):
            if known.name == plugin.name:
                text = f"{known.distribution} has a plugin of that name already, so that of {plugin.distribution}"
                self._failures.append(SetAside(plugin.name, f"{text} is not used"))
                return
        self.are_installed = False
        try:
            with PluginCode():
                self._merge(plugin, module)
        except BenchrunnerError as error:
            self.fail(plugin.name, error)
        else:
            self.loaded.append(plugin)
            if isinstance(module, ModuleType):
                self._packages[top_package(module.__name__)] = plugin

    def add_core(self, module: object) -> None:
        """Take the offers of benchrunner's own plugin; its errors are bugs and are raised."""
        self._merge(self.core, module)

    def _merge(self, plugin: Plugin, module: object) -> None:
        """Take the offers of a plugin; a `PluginError` if the core has a value of the same kind and name."""
        staged = stage(plugin, module)
        for offer in staged.offers:
            known = self._kinds[offer.kind].by_name.get(offer.name)
            if known is not None and known.plugin is self.core:
                raise PluginError(f"the {offer.kind} '{offer.name}' is there already, from {self.core.distribution}")
        self.manager.register(module, name=plugin.name)
        for offer in staged.offers:
            self._kinds[offer.kind].add(offer)
        self._families += staged.families

    def set_wrong_leaderboards_aside(self) -> None:
        """Set leaderboards aside whose columns name a task, metric or split that the tasks of all plugins lack."""
        names = self.tasks.names()
        for offer in list(self.leaderboards.by_name.values()):
            try:
                with PluginCode():
                    offer.value.check_columns(self.tasks, names)
            except BenchrunnerError as error:
                self.leaderboards.remove(offer)
                place = offer.value.origin or f"leaderboard {offer.name}"
                self._failures.append(SetAside(offer.plugin.name, f"{place}: {error!s}"))

    def supplier(self, value: object) -> Plugin:
        """Return the plugin that offers a value, for example a task or a family.

        For a value that no plugin offers, this is the plugin whose code made it, or else the core.
        """
        for kind in self._kinds.values():
            for offer in kind.by_name.values():
                if offer.value is value:
                    return offer.plugin
        for family in self._families:
            if family.value is value:
                return family.plugin
        return self._packages.get(top_package(type(value).__module__), self.core)

    def plugin_of_package(self, package: str) -> Plugin | None:
        """Return the plugin whose code is in a package of this name; None if there is none."""
        return self._packages.get(package)

    def suppliers_of(self, task: Task) -> list[Plugin]:
        """Return the plugins whose code a task runs: its own, and those of its problem and its sources."""
        parts: list[object] = [task.problem]
        for split in task.splits.values():
            for source in split.sources:
                parts += [source, getattr(source, "source", None)]
        packages = dict.fromkeys(top_package(type(part).__module__) for part in parts)
        return [self.supplier(task), *(self._packages[name] for name in packages if name in self._packages)]

    def tasks_of(self, names: Iterable[str]) -> list[Task]:
        """Return tasks by name, short name or name of their suite; each once, in the order of the names."""
        tasks: dict[str, Task] = {}
        for name in names:
            plugin, suite = self.tasks.split(name)
            known = self.tasks.names(plugin)
            members = sorted(full for full in known if _suite(full) == suite)
            if not members and self.tasks.offer(name) is None:
                raise unknown_name("task", name, {*known, *map(_suite, known)})
            prefix = "" if plugin is None else f"{plugin}:"
            for full in [f"{prefix}{member}" for member in members] or [name]:
                task = self.tasks.find(full)
                tasks[task.name] = task
        return list(tasks.values())

    def grid(self, name: str) -> Mapping[str, Sequence[Any]]:
        """Return the values of a grid by its name: one of `GRIDS`, or the grid of a named recipe."""
        if name not in self.grids:
            raise UnknownName("grid", name, self.grids)
        return GRIDS[name] if name in GRIDS else self.recipes.find(name).grid

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


def _suite(task: str) -> str:
    """Return the suite of a task's name."""
    return task.split("/", 1)[0]
