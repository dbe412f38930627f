"""Discovery: every plugin loaded alone, so that a broken one is set aside and everything else works."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import pluggy

from benchrunner import hookspecs
from benchrunner.backbones import Backbone, BackboneFamily
from benchrunner.errors import CheckpointError, PluginError, RequestError, UnknownName, closest
from benchrunner.executors import Executor, Local
from benchrunner.leaderboards import Leaderboard
from benchrunner.methods import Method
from benchrunner.methods.features import FrozenFeatures
from benchrunner.methods.finetune import Finetune
from benchrunner.methods.majority import Majority
from benchrunner.places import Places
from benchrunner.tasks import Task

T = TypeVar("T")

METHODS: tuple[Method, ...] = (
    Finetune(),
    Finetune("finetune+bilstm", "train all weights with a two-layer BiLSTM on top", "bilstm", exports=False),
    FrozenFeatures(),
    Majority(),
)
"""The core's own."""


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
        self._values: dict[str, dict[str, Any]] = {kind: {} for kind in (*_KINDS, "backbone")}
        self._homes: dict[str, BackboneFamily] = {}
        self._suppliers: dict[int, tuple[object, Plugin]] = {}
        self._contested: dict[tuple[str, str], list[str]] = {}
        self._packages: dict[str, Plugin] = {}
        self.core = Plugin("core", "benchrunner", _version("benchrunner", sys.modules[__name__]))
        for kind, value in (*(("method", one) for one in METHODS), ("executor", Local())):
            self._offer(kind, value, self.core)

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

    @property
    def studies(self) -> dict[str, Path]:
        """The .toml files in the folders `studies` of the plugins' packages, as `plugin/file`."""
        found: dict[str, Path] = {}
        for plugin in self.loaded:
            package = sys.modules.get(getattr(self.manager.get_plugin(plugin.name), "__package__", None) or "")
            for folder in getattr(package, "__path__", ()):
                files = Path(folder, "studies").glob("*.toml")
                found |= {f"{plugin.name}/{file.stem}": file for file in files}
        return dict(sorted(found.items()))

    @property
    def backbones(self) -> dict[str, Backbone]:
        """Those with names of their own, in the order in which their families list them."""
        return dict(self._values["backbone"])

    def add(self, plugin: Plugin, module: object) -> None:
        """Register one plugin and take its values; on any failure the plugin is set aside and nothing of it stays."""
        if self.manager.has_plugin(plugin.name):
            (first,) = (one.distribution for one in self.loaded if one.name == plugin.name)
            reason = f"{first} has a plugin of that name already, so that of {plugin.distribution} is not used"
            self.set_aside.append(SetAside(plugin.name, reason))
            return
        before = self._state()
        try:
            self._register(plugin, module)
        except (Exception, SystemExit) as error:  # a plugin may fail in any way; it must not take the tool with it
            if self.manager.has_plugin(plugin.name):
                self.manager.unregister(name=plugin.name)
            self._values, self._contested, self.families, self._homes, self.set_aside = before
            self.set_aside.append(SetAside(plugin.name, described(error)))
        else:
            self.loaded.append(plugin)
            if isinstance(module, ModuleType):
                self._packages[_top(module.__name__)] = plugin

    def _state(self) -> tuple[Any, ...]:
        """Copies of everything that a plugin adds to."""
        values = {kind: dict(values) for kind, values in self._values.items()}
        contested = {key: list(claims) for key, claims in self._contested.items()}
        return values, contested, list(self.families), dict(self._homes), list(self.set_aside)

    def _register(self, plugin: Plugin, module: object) -> None:
        self.manager.register(module, name=plugin.name)
        self.manager.check_pending()
        if not self.manager.get_hookcallers(module):
            raise PluginError("it has no hooks: is '@hookimpl' missing above them?")
        for kind, (hook, wanted) in _KINDS.items():
            for value in self._answers(module, hook, wanted):
                self._offer(kind, value, plugin)
        for family in self._answers(module, "register_backbones", BackboneFamily):
            self.families.append(family)
            self._suppliers[id(family)] = family, plugin
            for backbone in family.listed():
                if self._offer("backbone", backbone, plugin):
                    self._homes[backbone.name] = family

    def _answers(self, module: object, hook: str, wanted: type) -> Iterator[Any]:
        """What one plugin's hook gives, one by one."""
        hooks = getattr(self.hook, hook).get_hookimpls()
        for answer in [own.function() for own in hooks if own.plugin is module]:
            if not isinstance(answer, Iterable):
                raise PluginError(f"{hook} gave {answer!r}: yield values, or return a list of them")
            for value in answer:
                if not isinstance(value, wanted):
                    raise PluginError(f"{hook} gave {value!r}, which is not a {wanted.__name__}")
                yield value

    def _offer(self, kind: str, value: Any, plugin: Plugin) -> bool:
        """Take a value; False where another plugin has one of that name, in which case neither is used."""
        name = value.name
        if not isinstance(name, str) or not name:
            raise PluginError(f"the {kind} {value!r} has no name")
        known = self._values[kind].get(name)
        if known is None and (kind, name) not in self._contested:
            self._values[kind][name] = value
            self._suppliers[id(value)] = value, plugin
            return True
        if known is not None and self.supplier(known) in (self.core, plugin):
            raise PluginError(f"the {kind} '{name}' is there already, from {self.supplier(known).distribution}")
        claims = self._contested.setdefault((kind, name), [])
        if known is not None:
            claims.append(self.supplier(known).name)
            del self._values[kind][name]
        claims.append(plugin.name)
        self.set_aside.append(SetAside(" and ".join(claims), f"both offer the {kind} '{name}', so neither is used"))
        return False

    def supplier(self, value: object) -> Plugin:
        """The plugin that a task, method, family, leaderboard or executor came from."""
        return self._suppliers.get(id(value), (value, self.core))[1]

    def behind(self, task: Task) -> list[Plugin]:
        """The plugins whose code reads and asks a task: its own, and those whose problem or sources it is made of."""
        sources = [source for split in task.splits.values() for source in split.sources]
        parts = [task.problem, *sources, *(getattr(one, "source", None) for one in sources)]
        homes = dict.fromkeys(_top(type(one).__module__) for one in parts)
        return [self.supplier(task), *(self._packages[one] for one in homes if one in self._packages)]

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

    def study(self, name: str) -> tuple[str, Path]:
        """A study file by its name, by the last part of it, or by its path: what it is called, and where it lies."""
        if name.endswith(".toml"):
            return name, Path(name)
        known = self.studies
        full = _meant(name, known)
        if full is None:
            raise UnknownName("study", name, known, "The path of a .toml file is understood as well.")
        return full, known[full]

    def _named(self, kind: str, name: str) -> Any:
        full = self._full_name(kind, name)
        if full is None:
            raise UnknownName(kind, name, self._values[kind])
        return self._values[kind][full]

    def _full_name(self, kind: str, name: str) -> str | None:
        """The one name that is meant by it or by its last part; an error where two plugins claim it."""
        contested = {full: claims for (one, full), claims in self._contested.items() if one == kind}
        known = {*self._values[kind], *contested}
        full = _meant(name, known)
        if full in contested:
            claims = " and ".join(contested[full])
            raise RequestError(f"The {kind} '{full}' is offered by {claims}; uninstall one of them.")
        return full

    def tasks_of(self, names: Iterable[str]) -> list[Task]:
        """Tasks by name, by short name, or by the name of their suite, each once and in the order asked for."""
        found: dict[str, Task] = {}
        known = [*self.tasks, *(full for kind, full in self._contested if kind == "task")]
        for name in names:
            members = sorted(full for full in known if full.split("/", 1)[0] == name)
            if not members and self._full_name("task", name) is None:
                raise UnknownName("task", name, {*known, *(full.split("/", 1)[0] for full in known)})
            for full in members or [name]:
                task = self.task(full)
                found[task.name] = task
        return list(found.values())

    def backbone(self, reference: str, places: Places) -> tuple[Backbone, BackboneFamily]:
        """The backbone that a name, path or hub id means, and the family that knows it."""
        known, there = self._values["backbone"], bool(reference) and Path(reference).exists()
        name = reference if there and reference not in known else self._full_name("backbone", reference)
        if name in known:
            return known[name], self._homes[name]
        refusals = []
        for family in self.families if reference else []:
            try:
                found = family.find(reference, places)
            except RequestError as refusal:  # another family may know it
                refusals.append(refusal)
            except Exception as error:  # a family may fail in any way
                supplier = self.supplier(family).name
                refusals.append(CheckpointError(f"The plugin '{supplier}' failed on {reference}: {described(error)}."))
            else:
                if found is not None:
                    return found, family
        if refusals:
            close = [] if there else closest(reference, known)
            raise type(refusals[0])(str(refusals[0]) + (f" Did you mean {' or '.join(close)}?" if close else ""))
        if there:
            raise CheckpointError(f"No plugin can load {reference}: a folder with config.json and weights is expected.")
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
        plugins.add(Plugin(name, name, f"0+source.{_source_hash(module)}"), module)
    return plugins


def _attempt(plugins: Plugins, name: str, load: Callable[[], T]) -> T | None:
    try:
        return load()
    except (Exception, SystemExit) as error:  # an import may do anything
        plugins.set_aside.append(SetAside(name, described(error)))
        return None


def _meant(name: str, known: Collection[str]) -> str | None:
    """The one of the known names that is meant by it or by its last part; an error where that could be several."""
    matches = [name] if name in known else sorted(full for full in known if full.rsplit("/", 1)[-1] == name)
    if len(matches) > 1:
        raise RequestError(f"'{name}' could be {' or '.join(matches)}: say which.")
    return matches[0] if matches else None


def described(error: BaseException) -> str:
    """Any error in one line: its kind and what it says."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _top(module: str) -> str:
    return module.split(".")[0]


def _version(distribution: str, plugin: object) -> str:
    """The installed version; with a hash of the source where an edit would not change the version."""
    try:
        found = importlib.metadata.distribution(distribution)
        origin = json.loads(found.read_text("direct_url.json") or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return f"0+source.{_source_hash(plugin)}"
    # Somebody's own folder, installed editable or not: its code changes from one install to the next.
    return f"{found.version}+source.{_source_hash(plugin)}" if "dir_info" in origin else found.version


def _source_hash(plugin: object) -> str:
    """Of the plugin's module, or of the whole package that it belongs to."""
    home = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    parts = home.split(".")
    parents = (sys.modules.get(".".join(parts[: at + 1])) for at in range(len(parts)))
    module = next((one for one in parents if getattr(one, "__file__", None)), plugin)
    path, digest = Path(getattr(module, "__file__", None) or ""), hashlib.sha256()
    if not path.is_file():  # made up by hand, or inside an archive
        return "none"
    top = path.parent
    for one in sorted(top.rglob("*.py")) if hasattr(module, "__path__") else [path]:
        digest.update(one.relative_to(top).as_posix().encode() + b"\0" + one.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
