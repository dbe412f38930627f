"""BabyLM for benchrunner (challenges of 2025 and 2026): the fine-tuning tasks and the files of predictions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner import Leaderboard, Task

__all__ = ["register_leaderboards", "register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_babylm import multilingual, table

    yield from table.tasks()
    yield from multilingual.tasks()


@hookimpl
def register_leaderboards() -> Iterator[Leaderboard]:
    from benchrunner_babylm import board, multilingual

    yield board.board()
    yield multilingual.board()
