"""Versions of plugins, which are part of the identity of fits."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType


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
    try:
        origins = [json.loads(metadata.read_text("direct_url.json") or "{}") for metadata in installed]
        version = installed[0].version
    except (IndexError, ValueError):
        return f"0+source.{source_hash(plugin)}"
    # `dir_info` says that a local folder was installed, editable or not: its code may change under one version.
    is_folder = any("dir_info" in origin for origin in origins)
    return f"{version}+source.{source_hash(plugin)}" if is_folder else version


def source_hash(plugin: object) -> str:
    """Hash the source of the plugin's module, or of the whole package that the module belongs to."""
    home = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    parts = home.split(".")
    parents = (sys.modules.get(".".join(parts[: count + 1])) for count in range(len(parts)))
    module = next((parent for parent in parents if getattr(parent, "__file__", None)), plugin)
    path, digest = Path(getattr(module, "__file__", None) or ""), hashlib.sha256()
    if not path.is_file():  # a module without a file, or inside an archive
        return "none"
    top = path.parent
    for file in sorted(top.rglob("*.py")) if hasattr(module, "__path__") else [path]:
        digest.update(file.relative_to(top).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def top_package(module: str) -> str:
    """Return the first part of a module's dotted name."""
    return module.split(".")[0]
