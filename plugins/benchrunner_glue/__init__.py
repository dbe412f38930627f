"""GLUE for benchrunner (Wang et al. 2019): nine tasks; the diagnostic set AX is a split of MNLI. And SNLI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl, named_by_stub

if TYPE_CHECKING:
    from benchrunner import Task

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_glue.snli import SNLI
    from benchrunner_glue.table import tasks

    yield from tasks()
    yield SNLI
