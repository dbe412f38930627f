"""Discovery: every plugin loaded alone, so that a broken one is set aside and everything else works."""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pluggy

from benchrunner import hookspecs
from benchrunner.backbones import Backbone, BackboneFamily
from benchrunner.errors import CheckpointError, PluginError, RequestError, UnknownName
from benchrunner.executors import Executor, Local
from benchrunner.leaderboards import Leaderboard
from benchrunner.methods import Method
from benchrunner.methods.finetune import Finetune
from benchrunner.methods.majority import Majority
from benchrunner.places import Places
from benchrunner.tasks import Task

T = TypeVar("T")


@dataclass(frozen=True)
class Plugin:
    """One plugin that answered: where it came from and what identifies its code."""

    name: str
    """The entry point's name."""
    distribution: str
    version: str
    """As installed; an editable one has `+source.<hash>` added, so that an edit is another version."""


@dataclass(frozen=True)
class SetAside:
    """A plugin, or one value of it, that could not be used."""

    plugin: str
    reason: str


class Plugins:
    """What all plugins offer, by name. Made once, by `discover`, and passed along."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(hookspecs.GROUP)
        self.manager.add_hookspecs(hookspecs)
        self.loaded: list[Plugin] = []
        self.set_aside: list[SetAside] = []
        self.families: list[BackboneFamily] = []
        self._values: dict[str, dict[str, Any]] = {kind: {} for kind in _KINDS}
        self._suppliers: dict[int, Plugin] = {}
        self._contested: dict[tuple[str, str], list[str]] = {}
        core = Plugin("core", "benchrunner", _version("benchrunner", inspect.getmodule(Plugins)))
        self.core = core
        for kind, value in (("method", Finetune()), ("method", Majority()), ("executor", Local())):
            self._offer(kind, value, core)

    @property
    def hook(self) -> pluggy.HookRelay:
        return self.manager.hook

    @property
    def tasks(self) -> dict[str, Task]:
        return dict(sorted(self._values["task"].items()))

    @property
    def methods(self) -> dict[str, Method]:
        return dict(sorted(self._values["method"].items()))

    @property
    def leaderboards(self) -> dict[str, Leaderboard]:
        return dict(sorted(self._values["leaderboard"].items()))

    @property
    def executors(self) -> dict[str, Executor]:
        return dict(sorted(self._values["executor"].items()))

    def add(self, plugin: Plugin, module: object) -> None:
        """Register one plugin and take its values; on any failure the plugin is set aside and nothing of it stays."""
        before = {kind: dict(values) for kind, values in self._values.items()}
        families = len(self.families)
        try:
            self.manager.register(module, name=plugin.name)
            self.manager.check_pending()
            for kind, (hook, wanted) in _KINDS.items():
                for value in self._answers(module, hook):
                    if not isinstance(value, wanted):
                        raise PluginError(f"{hook} gave {value!r}, which is not a {wanted.__name__}")
                    self._offer(kind, value, plugin)
            for family in self._answers(module, "register_backbones"):
                if not isinstance(family, BackboneFamily):
                    raise PluginError(f"register_backbones gave {family!r}, which is not a BackboneFamily")
                self.families.append(family)
                self._suppliers[id(family)] = plugin
        except Exception as error:  # a plugin may fail in any way; it must not take the tool with it
            if self.manager.has_plugin(plugin.name):
                self.manager.unregister(name=plugin.name)
            self._values, self.families = before, self.families[:families]
            self.set_aside.append(SetAside(plugin.name, f"{type(error).__name__}: {_first_line(error)}"))
        else:
            self.loaded.append(plugin)

    def _answers(self, module: object, hook: str) -> Iterator[Any]:
        caller = self.manager.subset_hook_caller(hook, [one for one in self.manager.get_plugins() if one is not module])
        for answer in caller():
            yield from answer or ()

    def _offer(self, kind: str, value: Any, plugin: Plugin) -> None:
        known = self._values[kind].get(value.name)
        if known is not None or (kind, value.name) in self._contested:
            claims = self._contested.setdefault((kind, value.name), [])
            if known is not None:
                claims.append(self._suppliers[id(known)].name)
                del self._values[kind][value.name]
            claims.append(plugin.name)
            self.set_aside.append(
                SetAside(" and ".join(claims), f"both offer the {kind} '{value.name}', so neither is used")
            )
            return
        self._values[kind][value.name] = value
        self._suppliers[id(value)] = plugin

    def supplier(self, value: object) -> Plugin:
        """The plugin that a task, method, family, leaderboard or executor came from."""
        return self._suppliers.get(id(value), self.core)

    def task(self, name: str) -> Task:
        found: Task = self._named("task", name)
        return found

    def method(self, name: str) -> Method:
        found: Method = self._named("method", name)
        return found

    def leaderboard(self, name: str) -> Leaderboard:
        found: Leaderboard = self._named("leaderboard", name)
        return found

    def executor(self, name: str) -> Executor:
        found: Executor = self._named("executor", name)
        return found

    def _named(self, kind: str, name: str) -> Any:
        values = self._values[kind]
        if name in values:
            return values[name]
        if (kind, name) in self._contested:
            claims = " and ".join(self._contested[kind, name])
            raise RequestError(f"The {kind} '{name}' is offered by {claims}; uninstall one of them.")
        short = [full for full in values if full.rsplit("/", 1)[-1] == name]
        if len(short) == 1:
            return values[short[0]]
        if short:
            raise RequestError(f"'{name}' could be {' or '.join(sorted(short))}: say which.")
        raise UnknownName(kind, name, values)

    def tasks_of(self, names: Iterable[str]) -> list[Task]:
        """Tasks by name, by short name, or by the name of their suite, each once and in the order asked for."""
        found: dict[str, Task] = {}
        suites = {name.split("/", 1)[0] for name in self.tasks}
        for name in names:
            members = [task for full, task in self.tasks.items() if full.split("/", 1)[0] == name]
            for task in members if name in suites else [self.task(name)]:
                found[task.name] = task
        return list(found.values())

    def backbone(self, reference: str, places: Places) -> tuple[Backbone, BackboneFamily]:
        """The backbone that a name, path or hub id means, and the family that knows it."""
        shorts = [
            one for family in self.families for one in family.listed() if one.name.rsplit("/", 1)[-1] == reference
        ]
        asked = shorts[0].name if len(shorts) == 1 and not Path(reference).exists() else reference
        for family in self.families:
            found = family.find(asked, places)
            if found is not None:
                return found, family
        if Path(reference).exists():
            raise CheckpointError(f"No plugin can load {reference}: a folder with config.json and weights is expected.")
        known = [one.name for family in self.families for one in family.listed()]
        raise UnknownName("backbone", reference, known, "A folder or a hub id ('owner/name') is understood as well.")


_KINDS: dict[str, tuple[str, type]] = {
    "task": ("register_tasks", Task),
    "method": ("register_methods", Method),
    "leaderboard": ("register_leaderboards", Leaderboard),
    "executor": ("register_executors", Executor),
}


def discover(*, extra: Iterable[tuple[str, object]] = (), installed: bool = True) -> Plugins:
    """All plugins: those installed under the entry-point group, and those given as (name, module)."""
    plugins = Plugins()
    points = importlib.metadata.entry_points(group=hookspecs.GROUP) if installed else ()
    for point in sorted(points, key=lambda one: (one.name, one.value)):
        module = _attempt(plugins, point.name, point.load)
        if module is not None:
            distribution = point.dist.name if point.dist is not None else point.name
            plugins.add(Plugin(point.name, distribution, _version(distribution, module)), module)
    for name, module in extra:
        plugins.add(Plugin(name, name, _version(name, module)), module)
    return plugins


def _attempt(plugins: Plugins, name: str, load: Callable[[], T]) -> T | None:
    try:
        return load()
    except (Exception, SystemExit) as error:  # an import may do anything
        plugins.set_aside.append(SetAside(name, f"{type(error).__name__}: {_first_line(error)}"))
        return None


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0]


def _version(distribution: str, module: object) -> str:
    """The installed version; with a hash of the source where an edit would not change the version."""
    try:
        found = importlib.metadata.distribution(distribution)
    except importlib.metadata.PackageNotFoundError:
        return f"0+source.{_source_hash(module)}"
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    editable = origin.get("dir_info", {}).get("editable", False)
    return f"{found.version}+source.{_source_hash(module)}" if editable else found.version


def _source_hash(module: object) -> str:
    if not isinstance(module, ModuleType) or module.__file__ is None:
        return "none"
    path = Path(module.__file__)
    package = path.parent if path.name == "__init__.py" or module.__name__ == __name__ else None
    digest = hashlib.sha256()
    for one in sorted(package.rglob("*.py")) if package else [path]:
        digest.update(one.name.encode() + b"\0" + one.read_bytes())
    return digest.hexdigest()[:12]
