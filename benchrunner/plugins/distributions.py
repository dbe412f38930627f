"""Distributions: the versions of plugins, part of the identity of fits."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from types import ModuleType

DISTRIBUTION = "benchrunner"


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
    def code(self) -> str:
        """What enters the identity of fits: the version; in this project's distribution the hash alone.

        So a release changes the fits of those plugins only whose code it changes.
        """
        return self.version.rpartition("+")[2] if self.distribution == DISTRIBUTION else self.version

    @property
    def title(self) -> str:
        """Name and distribution, as fits record them: `name (distribution)`."""
        return f"{self.name} ({self.distribution})"


def installed_version(distribution: str, plugin: object) -> str:
    """Return the installed version with a hash of the source, which an edit changes, wherever it is installed.

    A library, which is given by its name, has the version alone unless a local folder was installed.
    """
    # A checkout on `sys.path` can hold a second description of a distribution, which does not say where it comes from.
    installed = list(metadata.distributions(name=distribution))
    if not installed:
        return f"0+source.{source_hash(plugin)}"
    version = installed[0].version
    if isinstance(plugin, str) and "dir_info" not in "".join(map(origin_of, installed)):
        return version
    return f"{version}+source.{source_hash(plugin, _top_names(installed) - {DISTRIBUTION})}"


def origin_of(installed: metadata.Distribution) -> str:
    """Return the file that says where a distribution was installed from; empty if that was an index.

    The code of a local folder, editable or not, may change under one version: `dir_info` says so. It is also the answer
    where the file cannot be read.
    """
    try:
        return installed.read_text("direct_url.json") or ""
    except (OSError, ValueError):
        return "dir_info"


def _top_names(installed: Iterable[metadata.Distribution]) -> set[str]:
    """Return the names of the modules and packages that distributions put into Python's folder of packages."""
    names = set[str]()
    for distribution in installed:
        names.update(path.parts[0].removesuffix(".py") for path in distribution.files or ())
    return names


def source_hash(plugin: object, own: Collection[str] = ()) -> str:
    """Hash every file that a plugin's code can come from, data files in its packages included; "none" without a file.

    These are the files of its module or package, and of all modules that these import, directly or not, if they are
    part of no installation: beside the plugin, on `sys.path`, in a folder that is installed editable, or among `own`,
    the names that the plugin's distribution installs. Files near these that their texts name are hashed as well.
    """
    import hashlib

    from benchrunner.io.seals import file_checksum

    homes, seen, lines = _homes(plugin), set[str](), list[str]()
    pending = list(homes)
    for name in pending:  # grows by what the files import
        unit = None if top_package(name) in seen else _unit(name)
        if unit is None or unit.name in seen:
            continue
        seen.add(unit.name)
        has_version = _is_installed_file(unit.file) or unit.name in {DISTRIBUTION, *_recorded_in(unit.folder)}
        if has_version and name not in homes and unit.name not in own:
            continue
        for file in unit.files():
            lines.append(f"{unit.name} {os.path.relpath(file, unit.file.parent)}\0{file_checksum(file)}\0")
            if file.suffix == ".py" and unit.name != DISTRIBUTION:
                pending += sorted(imported(file))
    return hashlib.sha256(os.fsencode("".join(lines))).hexdigest()[:12] if lines else "none"


def _homes(plugin: object) -> list[str]:
    """Return the names of the modules that define a plugin, without those of Python's standard library.

    A module defines itself; it may be given by its name, without being imported. Another object is defined by the
    modules of its class and of its functions.
    """
    if isinstance(plugin, ModuleType | str):
        return [plugin if isinstance(plugin, str) else plugin.__name__]
    modules = {
        str(getattr(value, "__module__", ""))
        for value in (*getattr(plugin, "__dict__", {}).values(), type(plugin))
        if callable(value)
    }
    return [name for name in sorted(modules) if top_package(name) not in sys.stdlib_module_names]


@dataclass(frozen=True)
class _Unit:
    """A package or a module that is in no other package, except in one without a file of its own."""

    name: str
    file: Path

    @property
    def is_package(self) -> bool:
        """Whether its folder is its own."""
        return self.file.stem == "__init__"

    @property
    def folder(self) -> Path:
        """The folder that Python finds the package or module in."""
        return self.file.parent.parent if self.is_package else self.file.parent

    def files(self) -> list[Path]:
        """Return the files that its code can come from, or read."""
        home = self.file.parent
        files = sorted(home.rglob("*")) if self.is_package else [self.file]
        own = [file for file in files if file.is_file() and not _is_left_out(file.relative_to(home))]
        return own if self.name == DISTRIBUTION else [*own, *self._named_in(own)]

    def _named_in(self, files: Collection[Path]) -> Iterator[Path]:
        """Yield further files that the code names, whole or by their suffix: ".json" in mood.py means mood.json.

        They are looked for beside the module or in the package, in the folder above unless that holds installed code,
        and in folders that the code names.
        """
        names = set[str]()
        for file in files:
            if file.suffix == ".py":
                for text in map(os.fsdecode, _TEXT.findall(file.read_bytes())):
                    names |= {*text.split("/"), file.stem + text}
        places = list(self.file.parents[: 1 if _is_installed_file(self.file) else 2])
        for place in places:  # grows by the folders that the code names
            for path in sorted(place.iterdir()):
                if path.name not in names or path.name in _NO_CODE or path in files:
                    continue
                if path.is_file():
                    yield path
                elif path.is_dir() and not path.is_symlink() and not (path / "__init__.py").exists():
                    places.append(path)


_NO_CODE = ("tests", "README.md")
_TEXT = re.compile(rb"[\"'](?=([^\"'\n]{1,200})[\"'])")
"""A quote with a text behind it. What stands between two texts counts too."""


def _is_left_out(file: Path) -> bool:
    """Return whether no fit depends on a file of a package: compiled and hidden ones, tests, a read-me and studies."""
    is_study = file.parts[0] == "studies" and file.suffix == ".toml"
    is_hidden = any(part.startswith(".") or part == "__pycache__" for part in file.parts)
    return is_study or is_hidden or file.parts[0] in _NO_CODE or file.suffix == ".pyc"


def _unit(name: str) -> _Unit | None:
    """Find the unit that a module belongs to, without importing it; None for a module without a file."""
    package = ""
    for part in name.split("."):
        package = f"{package}.{part}".lstrip(".")
        module = sys.modules.get(package)
        if module:
            file = getattr(module, "__file__", None)
        else:
            try:
                spec = importlib.util.find_spec(package)
            except (ImportError, ValueError, AttributeError):
                return None
            file = spec.origin if spec and spec.has_location else None
        if file:
            return _Unit(package, Path(file))
    return None


_IMPORTED = re.compile(
    rb"(?:^|[:;])\s*(?:from\s+(\w[\w.]*)\s+import\b|import\s+(\w[^;#]*))|import_module\(\s*[\"'](\w[\w.]*)"
)
"""What a line imports: one module, or several with commas between them."""


def imported(file: Path) -> set[str]:
    """Return the names of the modules that a file imports; a line of text that looks like an import counts too."""
    names = set[str]()
    for line in file.read_bytes().splitlines():
        if b"import" in line:
            for source, listed, called in _IMPORTED.findall(line):
                for name in (source or listed or called).decode(errors="replace").split(","):
                    names.update(name.split()[:1])
    return {name for name in names if top_package(name) not in sys.stdlib_module_names}


def _is_installed_file(file: Path) -> bool:
    """Return whether a file is one of Python's own or was installed, so that its distribution has a version."""
    parts = file.parts
    return file.is_relative_to(Path(os.__file__).parent) or "site-packages" in parts or "dist-packages" in parts


@cache
def _recorded_in(folder: Path) -> frozenset[str]:
    """Name the modules and packages that were installed into a folder, as with `pip install --target`.

    Distributions whose code may change under one version are left out.
    """
    installed = metadata.distributions(path=[str(folder)])
    return frozenset(
        _top_names(each for each in installed if each.read_text("RECORD") and "dir_info" not in origin_of(each))
    )


def top_package(module: str) -> str:
    """Return the first part of a module's dotted name."""
    return module.split(".")[0]
