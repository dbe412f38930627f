"""Settings of the executor: which cluster, and what a fit needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from benchrunner import RequestError


@final
@dataclass(frozen=True)
class RaySettings:
    """Which cluster runs the fits, and what each fit needs of a node."""

    address: str = "local"
    """`local` starts Ray on this machine, `auto` is the cluster of this machine, HOST:PORT is the head of a cluster."""
    cpus: int = 1
    """Cores of a fit, which is also its number of torch's threads."""
    gpus: float | None = None
    """GPUs of a fit, at most 1; with 0.5, two fits share one. None is 1 if the command runs on a GPU itself, else 0."""
    memory_gb: float | None = None
    """Memory of a fit in GB, by which Ray chooses a node; None does not count memory."""
    retries: int = 3
    """Number of times that a fit begins again after its worker or its node was lost."""
    files: Literal["auto", "shared", "returned"] = "auto"
    """How a run reaches the runs folder: written there by the worker (`shared`), sent back through Ray (`returned`),
    or written there if the worker sees the folder, else sent back (`auto`)."""
    patience_seconds: float = 60.0
    """Time to wait for a node that is large enough, if none is left."""

    def __post_init__(self) -> None:
        if self.address.startswith("ray://"):
            raise RequestError(
                f"address={self.address} is for Ray Client, which this executor does not use: run the command on a "
                "machine of the cluster with address=auto, or through 'ray job submit'."
            )
        host, colon, port = self.address.rpartition(":")
        if self.address not in ("local", "auto") and not (host and colon and port.isdecimal() and int(port) < 65536):
            raise RequestError(f"address must be local, auto or HOST:PORT, not '{self.address}'.")
        if self.cpus < 1:
            raise RequestError(f"A fit needs at least one core: cpus must be 1 or more, not {self.cpus}.")
        if self.gpus is not None and not 0 <= self.gpus <= 1:
            raise RequestError(f"A fit runs on one GPU at most: gpus must be from 0 to 1, not {self.gpus:g}.")
        if self.memory_gb is not None and not self.memory_gb > 0:
            raise RequestError(f"memory-gb must be above 0, not {self.memory_gb:g}.")
        if self.retries < 0:
            raise RequestError(f"retries must be 0 or more, not {self.retries}.")
        if not self.patience_seconds >= 0:
            raise RequestError(f"patience-seconds must be 0 or more, not {self.patience_seconds:g}.")
