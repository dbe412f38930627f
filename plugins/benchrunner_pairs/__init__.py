"""Minimal pairs for benchrunner: BLiMP, EWoK and COMPS, scored without training by the likelihood of texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner import Task
    from benchrunner.engine import Method

__all__ = ["register_methods", "register_tasks"]


@hookimpl
def register_tasks() -> Iterator[Task]:
    from benchrunner_pairs.table import tasks

    yield from tasks()


@hookimpl
def register_methods() -> Iterator[Method]:
    from benchrunner_pairs.likelihood import Likelihood

    yield Likelihood()
