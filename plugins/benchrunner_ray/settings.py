"""Settings of the executor: which cluster, and what a fit needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

from benchrunner import RequestError
from benchrunner.results import Declared, parameter


@final
@dataclass(frozen=True)
class RaySettings(Declared):
    """Which cluster runs the fits, and what each fit needs of a node."""

    address: str = parameter(
        "local",
        "`local` starts Ray on this machine, `auto` is the cluster of this machine, HOST:PORT is the head of a cluster",
    )
    cpus: int = parameter(
        1, "cores of a fit, at least one for each of its devices; also its number of torch's threads", at_least=1
    )
    gpus: float | None = parameter(
        None,
        "GPUs of a fit, with 0.5 two fits share one; one for each device of a fit if the command runs on a GPU itself, "
        "else 0",
        float,
        at_least=0,
        whole_above=1,
    )
    memory_gb: float | None = parameter(
        None, "memory of a fit in GB, by which Ray chooses a node; otherwise memory is not counted", float, above=0
    )
    retries: int = parameter(
        3, "number of times that a fit begins again after its worker or its node was lost", at_least=0
    )
    files: Literal["auto", "shared", "returned"] = parameter(
        "auto",
        "how a run reaches the runs folder: written there by the worker (`shared`), sent back through Ray "
        "(`returned`), or written there if the worker sees the folder, else sent back (`auto`)",
        choices=("auto", "shared", "returned"),
    )
    patience_seconds: float = parameter(
        60.0, "time to wait for a node that is large enough, if none is left", at_least=0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.address.startswith("ray://"):
            raise RequestError(
                f"address={self.address} is for Ray Client, which this executor does not use: run the command on a "
                "machine of the cluster with address=auto, or through 'ray job submit'."
            )
        host, colon, port = self.address.rpartition(":")
        if self.address not in ("local", "auto") and not (host and colon and port.isdecimal() and int(port) < 65536):
            raise RequestError(f"address must be local, auto or HOST:PORT, not '{self.address}'.")
