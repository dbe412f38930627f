"""SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018) and TriviaQA (Joshi et al. 2017) for benchrunner."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner import Task

__all__ = ["register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_squad.table import tasks

    yield from tasks()
