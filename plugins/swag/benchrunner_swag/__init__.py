"""SWAG for benchrunner: which of four endings follows? (Zellers et al. 2018)"""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner import Task, hookimpl
from benchrunner_swag.task import SWAG

__all__ = ["SWAG", "register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    yield SWAG
