"""Locks of folders: only one process works in a folder, also if several machines share it.

Each folder has two locks, which are acquired together. The operating system's lock is released when its process ends,
even by kill -9, but some network file systems refuse such locks, or apply them only on one machine without an error.
The lease is a file whose date its owner renews, which works on every file system. The lease of a process that died on
this machine is taken over at once; a lease from another machine is taken over after `LEASE_SECONDS` without renewal.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock

LEASE_SECONDS = 120.0
"""Time without renewal after which the lease of a process on another machine counts as abandoned."""
_WITHOUT_FLOCK = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK, errno.EINVAL}
"""Error numbers of a file system without locks, for example a network file system without a lock service."""
_ATTEMPT_SECONDS = 0.2
"""Time limit for acquiring a lease without waiting. An abandoned lease must be removed in this time as well."""


@contextlib.contextmanager
def held(folder: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Lock a folder for this process, and create it if it is missing.

    `waiting` is called once if another process holds the lock. A folder that this process cannot write to is not
    locked: a finished fit is read from it, which needs no lock.
    """
    if is_read_only(folder):
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as locks:
        if not _acquired(folder, locks):
            waiting()
            _acquired(folder, locks, patient=True)
        yield


@contextlib.contextmanager
def held_if_free(folder: Path) -> Iterator[bool]:
    """Lock a folder that exists, unless another process holds the lock; yield True if this process holds it now."""
    with contextlib.ExitStack() as locks:
        yield _acquired(folder, locks)


def is_read_only(folder: Path) -> bool:
    """Return whether a folder is there, and this process cannot write to it."""
    return folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK)


def is_held(folder: Path) -> bool:
    """Return whether a process holds the lock of a folder. Creates nothing in a folder that was never locked."""
    if not (folder / ".lock").exists():
        return False
    try:
        with held_if_free(folder) as is_free:
            return not is_free
    except OSError:  # this user cannot lock the folder, so no process of this user works in it
        return False


def _acquired(folder: Path, locks: contextlib.ExitStack, *, patient: bool = False) -> bool:
    """Acquire both locks and let `locks` release them. Return False if one is not free; with `patient`, wait for it."""
    from filelock import FileLock, SoftFileLease, Timeout

    system = FileLock(folder / ".lock", fallback_to_soft=False)
    lease = SoftFileLease(folder / ".lease", lease_duration=LEASE_SECONDS)
    with contextlib.ExitStack() as acquired:
        try:
            if _has_flock(system, patient=patient):
                acquired.callback(system.release)
            lease.acquire(timeout=None if patient else _ATTEMPT_SECONDS)
        except Timeout:
            return False
        acquired.callback(lease.release)
        locks.push(acquired.pop_all())
    return True


def _has_flock(lock: BaseFileLock, *, patient: bool) -> bool:
    """Acquire the operating system's lock; return False if the file system has no such locks."""
    try:
        lock.acquire(timeout=None if patient else 0)
    except OSError as error:
        if error.errno not in _WITHOUT_FLOCK:
            raise
        return False
    return True
