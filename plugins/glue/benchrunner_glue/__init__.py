"""GLUE for benchrunner (Wang et al. 2019): nine tasks; the diagnostic set AX is a split of MNLI."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner import Task, hookimpl
from benchrunner_glue.table import GLUE, tasks

__all__ = ["GLUE", "register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    yield from tasks()
