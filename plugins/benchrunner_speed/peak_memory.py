"""The largest memory that a process has had so far: of the host, or of the GPU that it uses."""

from __future__ import annotations

import sys
from pathlib import Path

from benchrunner import RequestError

STATUS = Path("/proc/self/status")


def peak_bytes(device: str) -> int:
    """Return the most bytes that this process has had in memory; of a GPU, those that torch allocated there."""
    import torch

    if torch.device(device).type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resident_peak()


def resident_peak() -> int:
    """Return the most bytes of this process that were resident.

    `ru_maxrss` of a new process begins with the size of the process that started it, so Linux is asked in another way.
    """
    if STATUS.exists():
        for line in STATUS.read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:
        raise RequestError(
            "the memory of a process is measured on Linux and macOS only; this system does not tell it."
        ) from None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
