"""BabyLM for benchrunner (challenges of 2025 and 2026): the seven fine-tuning tasks and the files of predictions."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner import Leaderboard, Task, hookimpl
from benchrunner_babylm.board import board
from benchrunner_babylm.table import BABYLM, tasks

__all__ = ["BABYLM", "register_leaderboards", "register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    yield from tasks()


@hookimpl
def register_leaderboards() -> Iterator[Leaderboard]:
    yield board()
