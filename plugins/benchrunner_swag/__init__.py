"""SWAG for benchrunner: which of four endings follows? (Zellers et al. 2018)"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl, named_by_stub

if TYPE_CHECKING:
    from benchrunner import Task

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_swag.task import SWAG

    yield SWAG
