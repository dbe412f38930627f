"""Places of output that a user names: links are followed, and what is no file or folder is refused."""

from __future__ import annotations

import os
from pathlib import Path

from benchrunner.errors import RequestError


def followed(path: Path) -> Path:
    """Return the path that a link leads to, so that what is there is replaced and the link stays a link.

    What the link leads to need not exist.
    """
    # Each of these looks once: another process may be replacing what is there.
    if path.is_fifo() or path.is_socket() or path.is_char_device() or path.is_block_device():
        raise RequestError(f"{path} cannot be written: this is a pipe or a device; name another place.")
    if path.name not in ("", "..") and path.parent.exists() and not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise RequestError(f"{path} cannot be written: it is a link that leads back to itself.")
    return target


def check_place(path: Path, *, is_file: bool) -> Path:
    """Return what `followed` does; raise a `RequestError` if no output can be written there, before long work.

    Missing parent folders are no fault: they are made. `is_file` says whether the output is a file or a folder.
    """
    path = followed(path)
    if is_file and path.is_dir():
        raise RequestError(f"{path} cannot be written: this is a folder. Remove it, or name a file.")
    if not is_file and path.is_file():
        raise RequestError(f"{path} cannot be written: this is a file; name a folder.")
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not (parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)):
        raise RequestError(f"{path} cannot be written: {parent} is not a folder that can be written to.")
    return path
