"""Temporary files and folders of writers, and their removal after a writer was killed.

The name of a temporary file says which process writes it: `.NAME.PROCESS-MACHINE.RANDOM.part`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path

_PART = re.compile(
    r"\.(?P<target>.+)\.(?P<process>[1-9][0-9]{0,9})-(?P<machine>[0-9a-f]{8})\.[^.]+(?P<old>\.old)?\.part"
)
_MOST_CHARACTERS = 48
"""Characters of the target's name that are in a temporary name, so that the temporary name is not too long."""


def temporary_file(target: Path) -> Path:
    """Create an empty temporary file beside `target`; remove leftovers of ended processes there."""
    remove_leftovers(target.parent)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=_prefix(target), suffix=".part")
    os.close(handle)
    return Path(name)


def temporary_folder(target: Path) -> Path:
    """Create a temporary folder beside `target`; remove leftovers of ended processes there."""
    remove_leftovers(target.parent)
    return Path(tempfile.mkdtemp(dir=target.parent, prefix=_prefix(target), suffix=".part"))


def remove_whole(folder: Path) -> None:
    """Remove a folder under a temporary name, so that no reader ever sees half of it, even if this process is killed.

    Leftovers of ended processes beside it are removed as well. Nothing is done if the folder is not there.
    """
    part = temporary_folder(folder)
    part.rmdir()
    with contextlib.suppress(FileNotFoundError):
        folder.rename(part)
    shutil.rmtree(part, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders in `folder` whose processes do not live any more.

    Processes of other machines count as living. A replaced folder is kept as long as nothing has taken its place.
    """
    with contextlib.suppress(OSError):  # a folder that may be written to but not listed
        for name in [entry.name for entry in os.scandir(folder) if entry.name.endswith(".part")]:
            match = _PART.fullmatch(name)
            if match is None or match["machine"] != _machine() or _lives(int(match["process"])):
                continue
            if match["old"] and not (folder / match["target"]).exists():
                continue
            _remove(folder / name)


def _prefix(target: Path) -> str:
    return f".{target.name[:_MOST_CHARACTERS]}.{os.getpid()}-{_machine()}."


def _machine() -> str:
    """Return a short text for this machine and its set of process numbers: a container has a set of its own."""
    import platform  # loads slowly, and most commands write nothing

    numbers = ""
    with contextlib.suppress(OSError):  # no Linux
        numbers = str(Path("/proc/self/ns/pid").readlink())
    return hashlib.sha256(f"{platform.node()} {numbers}".encode()).hexdigest()[:8]


def _lives(process: int) -> bool:
    if os.name != "posix":  # on Windows, os.kill would end the process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
