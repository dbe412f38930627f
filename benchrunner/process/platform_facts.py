"""Facts about this process and its machine: cores, memory, folders and signals."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from pathlib import Path

_CONTROL_GROUPS = Path("/sys/fs/cgroup")
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a process to stop: Ctrl-C, a scheduler's SIGTERM, and the end of a terminal."""


def available_cores() -> int:
    """Count the cores that this process may use.

    Limits are its affinity, the quota of its container (control groups) and OMP_NUM_THREADS. Where the system does not
    tell the affinity (macOS), all cores count.
    """
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    limits = [cores]
    with contextlib.suppress(OSError, ValueError):  # "max" where there is no quota
        quota, period = (_CONTROL_GROUPS / "cpu.max").read_text(encoding="ascii").split()
        limits.append(int(quota) // int(period))
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        quota = (_CONTROL_GROUPS / "cpu" / "cpu.cfs_quota_us").read_text()
        period = (_CONTROL_GROUPS / "cpu" / "cpu.cfs_period_us").read_text()
        if int(quota) > 0:
            limits.append(int(quota) // int(period))
    with contextlib.suppress(ValueError):  # a list of numbers is for nested parallel regions
        limits.append(int(os.environ.get("OMP_NUM_THREADS", cores)))
    return max(1, min(limits))


def home_folder() -> Path | None:
    """Return the user's home folder; None for a user that the system does not know, if HOME names no folder either.

    The root of the file system, which containers name for users without a home folder, does not count.
    """
    folder = Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home raises an error for such a user
    return folder if folder.is_absolute() and folder != Path(folder.anchor) else None


def current_umask() -> int:
    """Return the permissions that new files of this process do not get."""
    umask = os.umask(0)
    os.umask(umask)
    return umask


def flush_to_disk(path: Path) -> None:
    """Wait until the contents of a file, or the entries of a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def memory_size() -> int:
    """Return the bytes of memory that this process can have: those of the machine, or of a smaller limit.

    Limits are those of the process (`ulimit -v`) and of its container (control groups).
    """
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):  # "max" where there is no limit
            sizes.append(int((_CONTROL_GROUPS / name).read_text(encoding="ascii")))
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        sizes.append(limit)
    return min(sizes)
