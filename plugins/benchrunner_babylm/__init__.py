"""BabyLM for benchrunner (challenges of 2025 and 2026): the fine-tuning tasks and the files of predictions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner import Task

__all__ = ["register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_babylm import multilingual, table

    yield from table.tasks()
    yield from multilingual.tasks()
