"""Leaderboards for benchrunner: every .toml file in this folder describes one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchrunner import PluginError, hookimpl

__all__ = ["register_leaderboards"]


@hookimpl
def register_leaderboards() -> Iterator[Any]:
    """Yield the leaderboard of each .toml file, sorted by file name, or the error of the file."""
    from benchrunner_submit import read_leaderboard

    for path in sorted(Path(__file__).parent.glob("*.toml")):
        try:
            yield read_leaderboard(path)
        except PluginError as fault:
            yield fault
