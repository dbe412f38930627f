"""SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018) and TriviaQA (Joshi et al. 2017) for benchrunner."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner import Task, hookimpl
from benchrunner_squad.table import tasks

__all__ = ["register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    yield from tasks()
