"""Facts about the operating system: what exists only on some systems, with what is used on the others."""

from __future__ import annotations

import os
import signal


def available_cores() -> int:
    """Count the cores that this process may use; where the system does not tell (macOS, Windows), all cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def can_run_workers() -> bool:
    """Whether worker processes can be started: they inherit a connection and a signal mask, which Windows has not."""
    return os.name == "posix" and hasattr(signal, "pthread_sigmask")
