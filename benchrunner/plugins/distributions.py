"""Distributions: the versions of plugins, part of the identity of fits, and plugins that are not installed."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType
from typing import final

from benchrunner.errors import PluginError

DISTRIBUTION = "benchrunner"
PLUGINS_OF_COMMANDS = {
    **dict.fromkeys(("check", "predict", "score"), "submit"),
    **dict.fromkeys(("demo", "new"), "kit"),
    "export": "runs",
    "verify": "share",
}
"""Command of a first-party plugin -> the name of the plugin, where this is not that of the command."""


@final
class Distribution:
    """What an installed distribution says of itself, in its folder `*.dist-info`, or `*.egg-info` of a checkout.

    `importlib.metadata` says the same. To load it takes twice the time of an empty Python, at every start.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def text(self, name: str) -> str:
        """Return the content of a file of the folder; an empty text if there is no such file."""
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
            return ""

    @property
    def name(self) -> str:
        return next(self._values("Name"), _key(self.folder.name))

    @property
    def version(self) -> str:
        return next(self._values("Version"), "")

    @property
    def requires(self) -> list[str]:
        """The distributions that it needs, with versions and markers."""
        return list(self._values("Requires-Dist"))

    @property
    def entry_points(self) -> Iterator[tuple[str, str]]:
        """The name and the value of each entry point in the group of plugins."""
        group = ""
        for line in map(str.strip, self.text("entry_points.txt").splitlines()):
            if line.startswith("["):
                group = line.strip("[]")
            elif group == DISTRIBUTION and line and not line.startswith("#"):
                name, equals, value = line.partition("=")
                if not equals:
                    raise ValueError(f"the line '{line}' has no '='")
                yield name.strip(), value.strip()

    @cached_property
    def _headers(self) -> list[str]:
        text = self.text("METADATA") or self.text("PKG-INFO")
        return text.partition("\n\n")[0].splitlines()

    def _values(self, header: str) -> Iterator[str]:
        for line in self._headers:
            name, _, value = line.partition(":")
            if name == header:
                yield value.strip()


def distributions(name: str = "") -> list[Distribution]:
    """Find installed distributions in the folders of `sys.path`, in their order: all, or those of a name."""
    wanted = _normalized(name)
    found = []
    for place in search_path():
        for folder in _metadata_folders(place):
            if not name or _key(folder) == wanted:
                found.append(Distribution(Path(place, folder)))
    return found


def _metadata_folders(place: str) -> list[str]:
    """Return the names of the folders in which distributions that are installed in `place` say what they are."""
    try:
        with os.scandir(place or ".") as entries:
            return [entry.name for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:  # no folder
        return []


def _key(folder: str) -> str:
    """Return the name of a distribution as `_normalized` gives it, from the name of its folder."""
    return _normalized(folder.rpartition(".")[0].partition("-")[0])


def search_path() -> list[str]:
    """Return the folders in which installed distributions are looked for."""
    return sys.path


def by_name(found: Iterable[Distribution]) -> dict[str, Distribution]:
    """Return the first distribution of each name."""
    first: dict[str, Distribution] = {}
    for distribution in found:
        first.setdefault(_key(distribution.folder.name), distribution)
    return first


def _normalized(name: str) -> str:
    """Return one spelling of all that pip takes for the same name."""
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True)
class Plugin:
    """One plugin: its entry point, its distribution and the version of its code."""

    name: str
    """The entry point's name."""
    distribution: str
    find_version: Callable[[], str] = field(compare=False, repr=False)
    """Finds out the version, which may mean to read all files of the plugin."""

    @cached_property
    def version(self) -> str:
        """Installed version. If a folder was installed, `+source.<hash>` is added, so that an edit changes it."""
        return self.find_version()

    @property
    def title(self) -> str:
        """Name and distribution, as fits record them: `name (distribution)`."""
        return f"{self.name} ({self.distribution})"


def installed_version(distribution: str, plugin: object) -> str:
    """Return the installed version, with a hash of the source where an edit would not change the version."""
    # With a checkout on `sys.path`, a distribution is found twice: its `.egg-info` there says nothing of its origin.
    installed = distributions(distribution)
    if not installed:
        return f"0+source.{source_hash(plugin)}"
    version = installed[0].version
    if not any(map(_may_change, installed)):
        return version
    return f"{version}+source.{source_hash(plugin, _top_names(installed))}"


def check_requirements(installed: Distribution, present: Mapping[str, Distribution]) -> None:
    """Raise a `PluginError` if a plugin's distribution needs other versions of this project's than those installed."""
    for text in installed.requires:  # what an extra needs ends with a marker
        needed = re.fullmatch(rf"({DISTRIBUTION}(?:-\w+)*)(?:\[.*\])? *\(?([<>=!~][^;()]*)\)?", text)
        found = present.get(needed[1]) if needed is not None else None
        if needed is not None and found is not None and not _suits(found.version, needed[2].strip()):
            raise PluginError(
                f"{installed.name} {installed.version} needs {text}, and {needed[1]} {found.version} is installed. "
                f"'pip install --upgrade {needed[1]} {installed.name}' installs versions that suit each other"
            )


def _suits(version: str, wanted: str) -> bool:
    """Return whether a version is one of those that are wanted, such as `<0.2,>=0.1`."""
    bounds = [re.fullmatch(r"\s*(>=|<)\s*([\d.]+)\s*", bound) for bound in wanted.split(",")]
    if not re.fullmatch(r"[\d.]+", version) or None in bounds:
        from packaging.specifiers import SpecifierSet  # loads slowly, and knows what else a version may be

        return SpecifierSet(wanted).contains(version, prereleases=True)
    for bound in filter(None, bounds):
        is_later = _release(version) >= _release(bound[2])
        if is_later != (bound[1] == ">="):
            return False
    return True


def _release(version: str) -> list[int]:
    """Return the numbers of a version without zeros at the end: 0.1.0 is 0.1."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return numbers


def _may_change(installed: Distribution) -> bool:
    """Return whether the code of a distribution may change under one version, because a local folder was installed.

    Editable or not, `dir_info` says so. Where the file that has it is damaged, the code is taken to change.
    """
    try:
        text = installed.text("direct_url.json")
        if not text:
            return False
        import json

        origin = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return True
    return not isinstance(origin, dict) or "dir_info" in origin


def _top_names(installed: Iterable[Distribution]) -> set[str]:
    """Return the names of the modules and packages that distributions put into Python's folder of packages."""
    from importlib.metadata import PathDistribution

    names = set[str]()
    for distribution in installed:
        for path in PathDistribution(distribution.folder).files or ():
            names.add(path.parts[0].removesuffix(".py"))
    return names


def source_hash(plugin: object, own: Collection[str] = ()) -> str:
    """Hash every file that a plugin's code can come from, data files in its packages included; "none" without a file.

    These are the files of its module or package, and of all modules that these import, directly or not, if they are
    part of no installation: beside the plugin, on `sys.path`, in a folder that is installed editable, or among `own`,
    the names that the plugin's distribution installs.
    """
    import hashlib

    from benchrunner.io.seals import file_checksum

    digest, homes, seen = hashlib.sha256(), _homes(plugin), set[str]()
    is_known = False
    pending = list(homes)
    for name in pending:  # grows by what the files import
        unit = None if top_package(name) in seen else _unit(name)
        if unit is None or unit.name in seen:
            continue
        seen.add(unit.name)
        is_own = name in homes or unit.name in own
        if not is_own and (unit.name == DISTRIBUTION or _is_installed_file(unit.file) or unit.name in _recorded(unit)):
            continue
        for file in unit.files():
            is_known = True
            digest.update(os.fsencode(f"{unit.name} {file.relative_to(unit.file.parent).as_posix()}") + b"\0")
            digest.update(file_checksum(file).encode() + b"\0")
            if file.suffix == ".py" and unit.name != DISTRIBUTION:
                pending += sorted(_imported(file))
    return digest.hexdigest()[:12] if is_known else "none"


def _homes(plugin: object) -> list[str]:
    """Return the names of the modules whose code a plugin is: its own, or those of its class and its functions.

    A text is the name of a module, which need not be imported.
    """
    if isinstance(plugin, ModuleType | str):
        return [plugin if isinstance(plugin, str) else plugin.__name__]
    modules = {type(plugin).__module__: None}
    for value in getattr(plugin, "__dict__", {}).values():
        if callable(value):
            modules[str(getattr(value, "__module__", ""))] = None
    return [name for name in modules if top_package(name) not in sys.stdlib_module_names]


@dataclass(frozen=True)
class _Unit:
    """A package or a module that is in no other package, except in one without a file of its own."""

    name: str
    file: Path
    is_package: bool

    def files(self) -> list[Path]:
        """Return the files that its code can come from, or read: of a package all but compiled and hidden ones.

        Study files are left out: fits do not depend on them.
        """
        if not self.is_package:
            return [self.file] if self.file.is_file() else []
        files = []
        for folder, folders, names in os.walk(self.file.parent):
            folders[:] = sorted(name for name in folders if name != "__pycache__" and not name.startswith("."))
            is_studies = Path(folder) == self.file.parent / "studies"
            for name in sorted(names):
                is_study = is_studies and name.endswith(".toml")
                path = Path(folder, name)
                # no editor's lock, a link to nowhere
                if not is_study and not name.startswith(".") and not name.endswith(".pyc") and path.is_file():
                    files.append(path)
        return files


def _unit(name: str) -> _Unit | None:
    """Find the unit that a module belongs to, without importing it; None for a module without a file."""
    package = ""
    for part in name.split("."):
        package = f"{package}.{part}".lstrip(".")
        module = sys.modules.get(package)
        if module is not None:
            file, is_package = getattr(module, "__file__", None), hasattr(module, "__path__")
        else:
            try:
                spec = importlib.util.find_spec(package)
            except (ImportError, ValueError, AttributeError):
                return None
            if spec is None:
                return None
            file, is_package = spec.origin if spec.has_location else None, spec.submodule_search_locations is not None
        if file:
            return _Unit(package, Path(file), is_package)
    return None


_FROM = re.compile(rb"(?:^|[:;])\s*from\s+(\w[\w.]*)\s+import\b|import_module\(\s*[\"'](\w[\w.]*)")
_IMPORT = re.compile(rb"(?:^|[:;])\s*import\s+(\w[^;#]*)")


def _imported(file: Path) -> set[str]:
    """Return the names of the modules that a file imports. What only looks so in a text is rarely there."""
    names = set[bytes]()
    for line in file.read_bytes().splitlines():
        if b"import" in line:
            for source, called in _FROM.findall(line):
                names.add(source or called)
            for listed in _IMPORT.findall(line):
                names.update(part.split()[0] for part in listed.split(b",") if part.strip())
    decoded = {name.decode(errors="replace") for name in names}
    return {name for name in decoded if top_package(name) not in sys.stdlib_module_names}


def _is_installed_file(file: Path) -> bool:
    """Return whether a file is one of Python's own or was installed, so that its distribution has a version."""
    is_pythons = file.is_relative_to(Path(os.__file__).parent)
    return is_pythons or "site-packages" in file.parts or "dist-packages" in file.parts


def _recorded(unit: _Unit) -> frozenset[str]:
    """Name the modules and packages that were installed into the folder of a unit, as with `pip install --target`.

    Distributions whose code may change under one version are left out.
    """
    folder = unit.file.parent.parent if unit.is_package else unit.file.parent
    return _recorded_in(str(folder))


@cache
def _recorded_in(folder: str) -> frozenset[str]:
    names = set[str]()
    for distribution in map(Distribution, [Path(folder, name) for name in _metadata_folders(folder)]):
        if distribution.text("RECORD") and not _may_change(distribution):
            names |= _top_names([distribution])
    return frozenset(names)


def top_package(module: str) -> str:
    """Return the first part of a module's dotted name."""
    return module.split(".")[0]


def absent_plugins() -> list[str]:
    """Return the distributions of the extra `all` that are not installed."""
    absent, present = [], by_name(distributions())
    for text in requirements():
        name = re.match(rf"{DISTRIBUTION}-\w+", text)
        if name is not None and re.search(r"extra == ['\"]all['\"]", text) and name[0] not in present:
            absent.append(name[0])
    return absent


def absent_plugin_of(command: str) -> str:
    """Name the distribution of the extra `all` that brings a command and is not installed; empty if there is none."""
    name = f"{DISTRIBUTION}-{PLUGINS_OF_COMMANDS.get(command, command)}"
    return name if name in absent_plugins() else ""


def requirements() -> list[str]:
    """Return what the core needs; nothing if it is a copy of the code that nobody installed."""
    return next((found.requires for found in distributions(DISTRIBUTION)), [])


def advice_on_absent_plugins() -> str:
    """Say which plugins are not installed and how they are; an empty text if all of them are."""
    absent = absent_plugins()
    if not absent:
        return ""
    return f"Not installed: {', '.join(absent)}; \"pip install '{DISTRIBUTION}[all]'\" brings them."
