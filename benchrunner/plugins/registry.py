"""Registry of everything that the plugins offer, by name."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from benchrunner.errors import BenchrunnerError, PluginError, UnknownName, described, message_of
from benchrunner.plugin_code import foreign_places, guarded, reason
from benchrunner.plugins.distributions import DISTRIBUTION, Plugin, top_package
from benchrunner.plugins.loading import Loading
from benchrunner.plugins.offered_values import Offer, Offers, unknown_name
from benchrunner.plugins.registration import (
    BACKBONE,
    EXECUTOR,
    KINDS,
    LEADERBOARD,
    METHOD,
    RECIPE,
    SEARCH,
    TASK,
    Kind,
    Staged,
    new_manager,
    register,
    stage,
)
from benchrunner.plugins.suppliers import code_behind, library, parts_of

if TYPE_CHECKING:
    from benchrunner.backbones.backbone import Backbone, BackboneFamily
    from benchrunner.features.kernels import Kernels
    from benchrunner.fits.executor import Executor
    from benchrunner.fits.search import Search
    from benchrunner.leaderboards.board import Board
    from benchrunner.methods.method import Method, Team
    from benchrunner.parameters.grids import NamedRecipe
    from benchrunner.plugins.backbone_search import BackboneSearch
    from benchrunner.tasks.task import Task


@dataclass(frozen=True)
class SetAside:
    """A plugin that cannot be used, or a part of it, with the reason."""

    plugin: str
    reason: str

    @property
    def text(self) -> str:
        """What commands say about it."""
        return f"plugin {self.plugin} is set aside: {self.reason}"


class Plugins:
    """Everything that the plugins offer, by name. `discover` makes it once, and it is passed along.

    The hook of a kind is called when values of this kind are asked for first: `list methods` reads no leaderboard.
    """

    def __init__(self, core: Plugin) -> None:
        self.core = core
        self.manager = new_manager()
        self.hook = self.manager.hook
        self.loaded = list[Plugin]()
        """Every plugin in use except the core's own."""
        self.are_installed = False
        """Whether `discover` finds the same plugins in another process on this machine."""
        self.tell: Callable[[SetAside], None] = lambda part: None
        """Is told of every plugin, or part of it, that is found to be unusable."""
        self._offers: dict[str, Offers[Any]] = {}
        """The kinds that were asked for."""
        self._families: list[Offer[BackboneFamily]] = []
        self.known_set_aside = list[SetAside]()
        """The part of `set_aside` that is known from the kinds that were asked for."""
        self.packages: dict[str, Plugin] = {}
        """Package -> the plugin whose code is in it, in use or not: code of a plugin that is left out may run, too."""

    @property
    def tasks(self) -> Offers[Task]:
        return self._of(TASK)

    @property
    def methods(self) -> Offers[Method]:
        return self._of(METHOD)

    @property
    def recipes(self) -> Offers[NamedRecipe]:
        return self._of(RECIPE)

    @property
    def leaderboards(self) -> Offers[Any]:
        """The leaderboards, each a `Board`, whose columns name what the tasks of the plugins have."""
        return self._of(LEADERBOARD)

    @property
    def executors(self) -> Offers[Executor]:
        return self._of(EXECUTOR)

    @property
    def searches(self) -> Offers[Search]:
        return self._of(SEARCH)

    @property
    def backbones(self) -> Offers[Backbone]:
        """The listed backbones. `backbone_search` finds others, too."""
        return self._of(BACKBONE)

    @cached_property
    def kernels(self) -> Kernels | None:
        """The kernels for CPUs that a plugin offers."""
        return self._offered("offer_kernels")  # type: ignore[no-any-return]

    @cached_property
    def team(self) -> Team | None:
        """What a plugin offers for fits on several devices."""
        return self._offered("offer_team")  # type: ignore[no-any-return]

    def _offered(self, hook: str) -> Any:
        """Return what a hook offers that takes no arguments: of several plugins, the one that was registered last."""
        for offering in getattr(self.hook, hook).get_hookimpls()[-1:]:
            with self.setting_aside(offering.plugin_name, f"{hook}: "):
                return offering.function()
        return None

    @property
    def families(self) -> list[BackboneFamily]:
        """All families of backbones, in the order in which they are asked for a backbone."""
        self._of(BACKBONE)
        return [offer.value for offer in self._families]

    @property
    def set_aside(self) -> list[SetAside]:
        """Plugins, or parts of them, that could not be used."""
        for kind in KINDS:
            self._of(kind)
        return self.known_set_aside

    @property
    def contests(self) -> list[str]:
        """Say of each name that several plugins offer how a user chooses; names of kinds that were asked for."""
        return [contest for offers in self._offers.values() for contest in offers.contests]

    @property
    def studies(self) -> dict[str, Path]:
        """Study files in the folders `studies` of the plugins' packages, by `plugin/file`."""
        studies = {}
        for package, plugin in self.packages.items():
            if plugin in self.loaded:
                for folder in getattr(sys.modules.get(package), "__path__", ()):
                    for file in Path(folder, "studies").glob("*.toml"):
                        studies[f"{plugin.name}/{file.stem}"] = file
        return dict(sorted(studies.items()))

    @property
    def backbone_search(self) -> BackboneSearch:
        """The search for backbones among the offers of all plugins."""
        from benchrunner.plugins.backbone_search import BackboneSearch

        return BackboneSearch(self.backbones, self._families)

    def fail(self, plugin: str, error: BaseException, where: str = "") -> None:
        """Set a plugin, or a part of it, aside because of an error."""
        part = SetAside(plugin, where + " ".join(message_of(error).split()))
        self.known_set_aside.append(part)
        self.tell(part)

    @contextlib.contextmanager
    def setting_aside(self, plugin: str, where: str = "") -> Iterator[None]:
        """Set a plugin, or a part of it, aside if its code fails within the `with` block."""
        try:
            with guarded():
                yield
        except BenchrunnerError as error:
            self.fail(plugin, error, where)

    def explained(self, error: BaseException) -> tuple[str, str]:
        """Return the name of the plugin whose code is the innermost that an error went through, empty if there is none.

        The second text describes the error, which nothing expected, with the plugin, file and line.
        """
        for package, file, line in reversed(foreign_places(error)):
            if plugin := self.packages.get(package):
                return plugin.name, f"The plugin '{plugin.name}' failed: {described(error)} ({file}:{line})"
        return "", reason(error)

    def add(self, plugin: Plugin, module: object) -> None:
        """Take a plugin, or set it aside if its hooks cannot be called."""
        self.are_installed = False
        with self.setting_aside(plugin.name):
            for known in (self.core, *self.loaded):
                if known.name == plugin.name:
                    raise PluginError(
                        f"{known.distribution} has a plugin of that name; that of {plugin.distribution} is not used"
                    )
            register(plugin, module, self.manager)
            self.loaded.append(plugin)
            if isinstance(module, ModuleType):
                self.packages[top_package(module.__name__)] = plugin

    def _of(self, kind: Kind) -> Offers[Any]:
        """Return the values of a kind that the plugins offer."""
        if kind.name not in self._offers:
            offers = list[Offer[Any]]()
            for staged in self._staged(kind):
                offers += staged.offers
                self._families += staged.families
            if kind is not BACKBONE:
                offers.sort(key=lambda offer: offer.name)
            if kind is LEADERBOARD:
                offers = list(filter(self._is_usable, offers))
            self._offers[kind.name] = Offers(kind.name, offers, partial(self._read, kind))
        return self._offers[kind.name]

    def _staged(self, kind: Kind) -> list[Staged]:
        """Return what the core and each loaded plugin offer of a kind.

        A plugin whose hook raises, or that uses a name of the core's, offers nothing. Of a plugin with single faulty
        values, the others are kept. An error of the core itself is a bug and is raised.
        """
        own = stage(self.core, self.hook, kind)
        core_names = [offer.name for offer in own.offers]
        parts = [own]
        with Loading() as loading:
            for plugin in self.loaded:
                with self.setting_aside(plugin.name, f"{kind.hook}: "), loading.plugin(plugin.name):
                    staged = stage(plugin, self.hook, kind)
                    for offer in staged.offers:
                        if offer.name in core_names:
                            raise PluginError(
                                f"benchrunner has a {kind.name} '{offer.name}' itself: choose another name"
                            )
                    parts.append(staged)
                    for fault in staged.faults:
                        self.fail(plugin.name, fault, f"{kind.hook}: ")
        return parts

    def _read(self, kind: Kind, name: str) -> Offer[Any] | None:
        """Return a task in folds, or let a plugin read the value of a name, which this plugin offers from then on."""
        offers, plugins = self._of(kind), {plugin.name: plugin for plugin in self.loaded}
        plain, mark, folds = name.rpartition("@")
        whole = offers.offer(plain) if mark and kind is TASK else None
        if whole is not None:
            from benchrunner.tasks.folds import in_folds

            return replace(whole, value=in_folds(whole.value, folds))
        for reader in reversed(self.hook.read_value.get_hookimpls()):  # in pluggy's order: `tryfirst` first
            staged = Staged(plugins[reader.plugin_name], kind)
            with guarded(f"The plugin '{reader.plugin_name}'"):
                value: Any = reader.function(kind.name, name, self)
            if value is not None:
                staged.take([value])
                for fault in staged.faults:
                    raise fault
                if value.name not in offers.of_plugin(reader.plugin_name):
                    offers.add(staged.offers[0])
                return offers.offer(value.name)
        return None

    def _is_usable(self, board: Offer[Board]) -> bool:
        """Return whether a leaderboard names what the tasks of all plugins have, or set it aside."""
        place = board.value.origin or f"leaderboard {board.name}"
        with self.setting_aside(board.plugin.name, f"{place}: "):
            board.value.check_tasks(self.tasks, self.tasks.names)
            return True
        return False

    def supplier(self, value: object) -> Plugin:
        """Return the plugin that offers a value, for example a task or a family.

        For a value that no plugin offers, this is the plugin whose code made it, or else the core.
        """
        value = getattr(value, "whole", value)
        for kind in KINDS:
            if kind.has(value):
                for offer in (*self._of(kind).every, *self._families):
                    if offer.value is value:
                        return offer.plugin
        return self.packages.get(top_package(type(value).__module__), self.core)

    def suppliers_of(self, task: Task) -> list[Plugin]:
        """Return whose code a task runs: its plugin, and those behind its problem, its sources and its metrics.

        A library that is no plugin is one of them if such a value comes from it.
        """
        suppliers = {self.supplier(task): None}
        for package in sorted(code_behind(parts_of(task), self.packages) - {DISTRIBUTION}):
            if plugin := self.packages.get(package) or library(package):
                suppliers[plugin] = None
        return list(suppliers)

    def tasks_of(self, names: Iterable[str]) -> list[Task]:
        """Return tasks by name, short name or name of their suite; each once, in the order of the names."""
        tasks = {}
        for name in names:
            known = self.tasks.names
            members = sorted(full for full in known if full.startswith(f"{name}/"))
            for paths in (
                () if members or self.tasks.offer(name) else self.hook.read_value(kind="suite", name=name, plugins=self)
            ):
                members += paths
            for member in members or [name]:
                offer = self.tasks.offer(member)
                if offer is None:
                    raise unknown_name("task", name, {*known, *(full.partition("/")[0] for full in known)})
                tasks[offer.value.name] = offer.value
        return list(tasks.values())

    def grid(self, name: str) -> Mapping[str, Sequence[Any]]:
        """Return the values of a grid by its name: one of `GRIDS`, or the grid of a named recipe."""
        if name not in self.grids:
            raise UnknownName("grid", name, self.grids)
        return self.grids[name]

    @property
    def grids(self) -> Mapping[str, Mapping[str, Sequence[Any]]]:
        """All grids: `GRIDS`, and those of named recipes."""
        from benchrunner.parameters.grids import GRIDS

        return {**GRIDS, **{name: recipe.grid for name, recipe in self.recipes.items() if recipe.grid}}
