"""Places of output that a user names: links are followed; devices, FIFOs and open streams are written straight into."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from benchrunner.errors import BenchrunnerError, RequestError

_OUTPUTS = (1, 2)
"""File descriptors of standard output and standard error."""


def is_stream(path: Path) -> bool:
    """Return whether output is written straight into what is at `path`: a device, a FIFO or our own output."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or _descriptor(path) is not None


def followed(path: Path) -> Path:
    """Return the path that a link leads to, so that what is there is replaced and the link stays a link.

    What the link leads to need not exist.
    """
    if path.name not in ("", "..") and path.parent.exists() and not path.is_symlink():
        return path
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise RequestError(f"{path} cannot be written: it is a link that leads back to itself.")
    return target


def check_place(path: Path, *, is_file: bool) -> None:
    """Raise a `RequestError` if no output can be written at `path`; call this before long work.

    Missing parent folders are no fault: they are made. `is_file` says whether the output is a file or a folder.
    """
    path = path if is_stream(path) else followed(path)
    if is_file and path.is_dir():
        raise RequestError(f"{path} cannot be written: this is a folder; name a file.")
    if not is_file and path.exists() and not path.is_dir():
        raise RequestError(f"{path} cannot be written: this is a file; name a folder.")
    if is_stream(path):
        _check_stream(path)
        return
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not (parent.is_dir() and os.access(parent, os.W_OK | os.X_OK)):
        raise RequestError(f"{path} cannot be written: {parent} is not a folder that can be written to.")


def check_is_text(path: Path | str) -> None:
    """Raise a `RequestError` for a folder of models whose path is not UTF-8: safetensors cannot read its files."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise RequestError(
            f"{path}: this path is not UTF-8, and the libraries that read models refuse such paths. Choose a folder "
            "with another name, or rename the folder."
        ) from None


@contextmanager
def file_for(path: Path) -> Iterator[Path]:
    """Yield the path to write a file at: `path`, or for a stream a temporary file that is copied into it at the end."""
    if not is_stream(path):
        yield path
        return
    _check_stream(path)
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"output{path.suffix}"
        yield file
        with file.open("rb") as content:
            try:
                with _opened(path) as stream:
                    shutil.copyfileobj(content, stream)
            except BrokenPipeError:
                raise BenchrunnerError(f"{path}: its reader ended before everything was written.") from None


def _check_stream(path: Path) -> None:
    if not os.access(path, os.W_OK):
        raise RequestError(f"{path} cannot be written: you have no permission to write to it.")


def _opened(path: Path) -> BinaryIO:
    """Open a stream for writing. An open file of this process goes on where it is: it is not cut to nothing."""
    number = _descriptor(path)
    if number is None:
        return path.open("wb")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # what was printed before stands before the output
    return os.fdopen(os.dup(number), "wb")


def _descriptor(path: Path) -> int | None:
    """Return the number of the standard stream that writes to what is at `path`, as for /dev/stdout; else None."""
    for number in _OUTPUTS:
        with suppress(OSError):
            if os.path.samestat(os.fstat(number), path.stat()):
                return number
    return None
