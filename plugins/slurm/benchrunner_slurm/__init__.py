"""SLURM for benchrunner: fits run as the jobs of a job array, submitted with submitit."""

from __future__ import annotations

from collections.abc import Iterator

from benchrunner import hookimpl
from benchrunner.results import Executor
from benchrunner_slurm.executor import SlurmExecutor
from benchrunner_slurm.settings import SlurmSettings

__all__ = ["SlurmExecutor", "SlurmSettings", "register_executors"]


@hookimpl
def register_executors() -> Iterator[Executor]:
    yield SlurmExecutor()
