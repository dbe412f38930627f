"""Ray for benchrunner: fits run as the tasks of a Ray cluster, or of Ray on this machine."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner import hookimpl
from benchrunner.results import Executor
from benchrunner_ray.executor import RayExecutor
from benchrunner_ray.settings import RaySettings

__all__ = ["RayExecutor", "RaySettings", "register_executors"]


@hookimpl
def register_executors() -> Iterator[Executor]:
    yield RayExecutor()
