"""CoNLL-2002 for benchrunner: named entities in Spanish and Dutch (Tjong Kim Sang 2002)."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner import Task, hookimpl
from benchrunner_conll2002.table import tasks

__all__ = ["register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    yield from tasks()
