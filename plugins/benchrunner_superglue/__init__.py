"""SuperGLUE for benchrunner (Wang et al. 2019): eight tasks; the diagnostic sets AX-b and AX-g are splits of RTE."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner import Task

__all__ = ["register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_superglue.table import tasks

    yield from tasks()
