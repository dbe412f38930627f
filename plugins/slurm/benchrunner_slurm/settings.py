"""Settings of the executor: what a job asks SLURM for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final

from benchrunner import RequestError


@final
@dataclass(frozen=True)
class SlurmSettings:
    """What each job asks SLURM for, and how many jobs run at once. A job runs one fit."""

    partition: str | None = None
    """Partition of the jobs; None is the cluster's default."""
    account: str | None = None
    """Account that pays for the jobs."""
    qos: str | None = None
    """Quality of service."""
    constraint: str | None = None
    """Features that a node must have."""
    minutes: int = 240
    """Time limit of a job. A job that reaches the limit is queued again and goes on from its last checkpoint."""
    cpus: int = 4
    """Cores of a job, which is also its number of torch's threads."""
    gpus: int | None = None
    """GPUs of a job, 0 or 1; None is 1 if the command runs on a GPU itself, else 0."""
    memory_gb: float | None = None
    """Memory of a job in GB; None is the cluster's default."""
    at_once: int = 64
    """Largest number of jobs that run at the same time."""
    setup: str = ""
    """Shell commands that prepare a job, such as `module load cuda`."""
    logs: Path | None = None
    """Shared folder for the jobs' logs; None is `.slurm` in the runs folder."""
    cluster: Literal["slurm", "local"] = "slurm"
    """`local` runs the jobs as processes of this machine, to try the settings out."""
    poll_seconds: float = 5.0
    """Time between two looks at the jobs."""

    def __post_init__(self) -> None:
        for name in ("minutes", "cpus", "at_once", "poll_seconds"):
            if not getattr(self, name) > 0:
                raise RequestError(f"The executor 'slurm' needs {_written(name)} above 0, not {getattr(self, name)}.")
        if self.memory_gb is not None and not self.memory_gb > 0:
            raise RequestError(f"The executor 'slurm' needs memory-gb above 0, not {self.memory_gb}.")
        if self.gpus not in (None, 0, 1):
            raise RequestError(f"A fit runs on one GPU at most: gpus must be 0 or 1, not {self.gpus}.")


def _written(name: str) -> str:
    return name.replace("_", "-")
