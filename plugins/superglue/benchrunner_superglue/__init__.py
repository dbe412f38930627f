"""SuperGLUE for benchrunner (Wang et al. 2019): eight tasks; the diagnostic sets AX-b and AX-g are splits of RTE."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner import Leaderboard, Task, hookimpl
from benchrunner_superglue.board import board
from benchrunner_superglue.table import SUPERGLUE, tasks

__all__ = ["SUPERGLUE", "register_leaderboards", "register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    yield from tasks()


@hookimpl
def register_leaderboards() -> Iterator[Leaderboard]:
    yield board()
