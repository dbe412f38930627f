"""Versions of plugins: which code a fit was made with."""

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
    """One plugin that answered: where it came from and what identifies its code."""

    name: str
    """The entry point's name."""
    distribution: str
    version: str
    """As installed; an editable one has `+source.<hash>` added, so that an edit is another version."""

    @property
    def title(self) -> str:
        """Name and distribution, as fits record them."""
        return f"{self.name} ({self.distribution})"


def installed_version(distribution: str, plugin: object) -> str:
    """The installed version; with a hash of the source where an edit would not change the version."""
    try:
        found = importlib.metadata.distribution(distribution)
        origin = json.loads(found.read_text("direct_url.json") or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return f"0+source.{source_hash(plugin)}"
    # Somebody's own folder, installed editable or not: its code changes from one install to the next.
    return f"{found.version}+source.{source_hash(plugin)}" if "dir_info" in origin else found.version


def source_hash(plugin: object) -> str:
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


def top_package(module: str) -> str:
    """The first part of a module's dotted name."""
    return module.split(".")[0]
