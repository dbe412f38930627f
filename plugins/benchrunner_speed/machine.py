"""The machine that measures: what stands beside the figures, so that nobody compares figures of two machines."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from benchrunner_speed.worker import Place

BUSY = 0.5
"""Load of other processes, in cores, from which a machine counts as busy."""


@final
@dataclass(frozen=True)
class Machine:
    """A processor or a GPU, and how it computes."""

    processor: str
    device: str
    device_name: str
    precision: str
    threads: int
    cores: int
    capability: str
    """Vector units of the processor that torch uses, or compute capability of a GPU."""
    versions: dict[str, str] = field(default_factory=dict)
    load: float | None = None
    """Processes that wanted a core in the minute before the measurement; None where the system does not tell."""

    @property
    def text(self) -> str:
        """The machine in one line."""
        name = f"{self.device} ({self.device_name})" if self.device == "cuda" else self.processor
        threads = f"{self.threads} thread{'s' * (self.threads > 1)} of {self.cores} cores, " * (self.device == "cpu")
        versions = ", ".join(f"{library} {version}" for library, version in self.versions.items())
        return f"{name}, {threads}{self.precision}, {versions}"

    @property
    def busy_note(self) -> str:
        """A warning where other processes wanted the cores; empty elsewhere."""
        if self.load is None or self.load < BUSY:
            return ""
        return (
            f"the machine was busy before the measurement (load {self.load:.1f}): times are longer than on a quiet "
            "one, and intervals wider"
        )


def machine_of(place: Place) -> Machine:
    """Describe this machine. The names are those of fits' numerics, where these have the same fact."""
    import torch

    device = torch.device(place.device)
    name = platform.processor() or platform.machine()
    capability = torch.backends.cpu.get_cpu_capability()
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        capability = ".".join(map(str, torch.cuda.get_device_capability(device)))
    return Machine(
        processor=_processor(),
        device=device.type,
        device_name=name,
        precision=place.precision,
        threads=place.threads,
        cores=os.cpu_count() or 1,
        capability=capability,
        versions={"torch": torch.__version__},
        load=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    )


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []
    for line in lines:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
