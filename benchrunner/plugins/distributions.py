"""Distributions: the versions of plugins, part of the identity of fits, and plugins that are not installed."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

DISTRIBUTION = "benchrunner"


@dataclass(frozen=True)
class Plugin:
    """One plugin: its entry point, its distribution and the version of its code."""

    name: str
    """The entry point's name."""
    distribution: str
    version: str
    """Installed version. If a folder was installed, `+source.<hash>` is added, so that an edit changes the version."""

    @property
    def title(self) -> str:
        """Name and distribution, as fits record them: `name (distribution)`."""
        return f"{self.name} ({self.distribution})"


def installed_version(distribution: str, plugin: object) -> str:
    """Return the installed version, with a hash of the source where an edit would not change the version."""
    # With a checkout on `sys.path`, a distribution is found twice: its `.egg-info` there says nothing of its origin.
    installed = list(importlib.metadata.distributions(name=distribution))
    if not installed:
        return f"0+source.{source_hash(plugin)}"
    version = str(installed[0].version)
    return f"{version}+source.{source_hash(plugin)}" if any(map(_may_change, installed)) else version


def _may_change(installed: importlib.metadata.Distribution) -> bool:
    """Return whether the code of a distribution may change under one version, because a local folder was installed.

    Editable or not, `dir_info` says so. Where the file that has it is damaged, the code is taken to change.
    """
    try:
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
    except (OSError, ValueError, RecursionError):
        return True
    return not isinstance(origin, dict) or "dir_info" in origin


def source_hash(plugin: object) -> str:
    """Hash the source of the plugin's module, or of the whole package that the module belongs to."""
    home = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    module: object = plugin
    package = ""
    for part in home.split("."):
        package = f"{package}.{part}".lstrip(".")
        parent = sys.modules.get(package)
        if getattr(parent, "__file__", None):
            module = parent
            break
    path = Path(getattr(module, "__file__", None) or "")
    if not path.is_file():  # a module without a file, or inside an archive
        return "none"
    files = sorted(path.parent.rglob("*.py")) if hasattr(module, "__path__") else [path]
    digest = hashlib.sha256()
    for file in files:
        if file.is_file():  # not a folder of such a name, nor an editor's lock, a link to nowhere
            name = os.fsencode(file.relative_to(path.parent).as_posix())
            digest.update(name + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def top_package(module: str) -> str:
    """Return the first part of a module's dotted name."""
    return module.split(".")[0]


def absent_plugins() -> list[str]:
    """Return the distributions of the extra `all` that are not installed."""
    try:
        requirements = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:  # a copy of the code that nobody installed
        return []
    absent = []
    for text in requirements:
        name = re.match(rf"{DISTRIBUTION}-\w+", text)
        if name is not None and re.search(r"extra == ['\"]all['\"]", text) and not _is_installed(name[0]):
            absent.append(name[0])
    return absent


def advice_on_absent_plugins() -> str:
    """Say which plugins are not installed and how they are; an empty text if all of them are."""
    absent = absent_plugins()
    if not absent:
        return ""
    return f"Not installed: {', '.join(absent)}; \"pip install '{DISTRIBUTION}[all]'\" brings them."


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
