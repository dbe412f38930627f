"""Leaderboards for benchrunner: every .toml file in this folder describes one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner import Leaderboard

__all__ = ["register_leaderboards"]


@hookimpl
def register_leaderboards() -> Iterator[Leaderboard]:
    """Yield the leaderboard of each .toml file, sorted by file name."""
    from benchrunner_submit import read_leaderboard

    for path in sorted(Path(__file__).parent.glob("*.toml")):
        yield read_leaderboard(path)
