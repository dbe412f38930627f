"""CoNLL-2002 for benchrunner: named entities in Spanish and Dutch (Tjong Kim Sang 2002)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner import Task

__all__ = ["register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_conll2002.table import tasks

    yield from tasks()
