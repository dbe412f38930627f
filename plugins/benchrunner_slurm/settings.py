"""Settings of the executor: what a job asks SLURM for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner.results import Declared, parameter


@final
@dataclass(frozen=True)
class SlurmSettings(Declared):
    """What each job asks SLURM for, and how many jobs run at once. A job runs one fit."""

    partition: str | None = parameter(None, "partition of the jobs, in place of the cluster's default", str)
    account: str | None = parameter(None, "account that pays for the jobs", str)
    qos: str | None = parameter(None, "quality of service", str)
    constraint: str | None = parameter(None, "features that a node must have", str)
    minutes: int = parameter(
        240, "time limit of a job; a job that reaches it is queued again and goes on from its checkpoint", at_least=1
    )
    cpus: int = parameter(
        4, "cores of a job, at least one for each device of a fit; also its number of torch's threads", at_least=1
    )
    gpus: int | None = parameter(
        None,
        "GPUs of a job; one for each device of a fit if the command runs on a GPU itself, else 0",
        int,
        at_least=0,
    )
    memory_gb: float | None = parameter(
        None, "memory of a job in GB, in place of the cluster's default", float, above=0
    )
    at_once: int = parameter(64, "largest number of jobs that run at the same time", at_least=1)
    setup: str = parameter("", "shell commands that prepare a job, such as `module load cuda`")
    logs: Path | None = parameter(
        None, "shared folder for the jobs' logs, in place of `.slurm` in the runs folder", Path
    )
    cluster: str = parameter(
        "slurm",
        "`local` runs the jobs as processes of this machine, to try the settings out",
        choices=("slurm", "local"),
    )
    poll_seconds: float = parameter(5.0, "time between two looks at the jobs", above=0)
