"""Leaderboards for benchrunner: every .toml file in this folder describes one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchrunner import Leaderboard, hookimpl, read_leaderboard

__all__ = ["register_leaderboards"]


@hookimpl
def register_leaderboards() -> Iterator[Leaderboard]:
    """Yield the leaderboard of each .toml file, sorted by file name."""
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        yield read_leaderboard(path)
