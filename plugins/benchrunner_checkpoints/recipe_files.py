"""Published recipes as TOML files, one each."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from benchrunner import NamedRecipe, PluginError
from benchrunner.engine import decoding


def read_recipes(folder: Path) -> Iterator[NamedRecipe]:
    """Read a recipe from each .toml file of a folder."""
    for path in sorted(folder.glob("*.toml")):
        yield decoding.decoded(NamedRecipe, tomllib.loads(path.read_text(encoding="utf-8")), path, PluginError)
