"""Ray for benchrunner: fits run as the tasks of a Ray cluster, or of Ray on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner.results import Executor

__all__ = ["register_executors"]


@hookimpl
def register_executors() -> Iterator[Executor]:
    from benchrunner_ray.executor import RayExecutor

    yield RayExecutor()
