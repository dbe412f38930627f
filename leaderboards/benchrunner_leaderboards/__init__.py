"""Leaderboards for benchrunner: every .toml file beside this one is a board."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchrunner import Leaderboard, hookimpl

__all__ = ["register_leaderboards"]


@hookimpl
def register_leaderboards() -> Iterator[Leaderboard]:
    """One board a file, in the order of their names."""
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        yield Leaderboard.from_toml(path)
