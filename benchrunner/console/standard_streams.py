"""Standard streams of a process: closed ones, ones whose reader is gone, and encodings that lack characters."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any, final

_INPUT, _OUTPUT, _ERRORS = 0, 1, 2
"""File descriptors of the standard streams."""


def prepare_streams() -> None:
    """Let no standard stream of this process fail where nobody is there to read it.

    A closed stream becomes the null device: else the next file that is opened would get its number, and what libraries
    print would be written into that file. What is written after the reader has gone is discarded. A character that an
    encoding lacks is printed as an escape such as `\\xe4`.
    """
    for number in (_INPUT, _OUTPUT, _ERRORS):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
    streams = {
        "stdin": sys.stdin or open(_INPUT, encoding="utf-8", closefd=False),  # noqa: SIM115
        "stdout": _lasting(sys.stdout, _OUTPUT, "standard output"),
        "stderr": _lasting(sys.stderr, _ERRORS, ""),
    }
    for name, stream in streams.items():
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


@final
class _LastingFile(io.FileIO):
    """File of a standard stream that discards what is written after its reader has gone.

    Any other failure, such as a full disk, is raised once, with the name of the stream; never for a stream without a
    name.
    """

    def __init__(self, number: int, name: str) -> None:
        super().__init__(number, "w", closefd=False)
        self._name = name
        self._is_terminal = self.isatty()

    def write(self, content: Any) -> int:
        try:
            return super().write(content)
        except OSError as error:
            is_gone = error.errno == errno.EPIPE or (error.errno == errno.EIO and self._is_terminal)
            name, self._name = self._name, ""
            if name and not is_gone:
                raise OSError(error.errno, error.strerror, name) from None
            return memoryview(content).nbytes


def _lasting(stream: Any, number: int, name: str) -> Any:
    """Return a stream like a standard stream of Python, on a `_LastingFile`."""
    if stream is not None and not isinstance(stream, io.TextIOWrapper):  # replaced by another program, as in a notebook
        return stream
    file = _LastingFile(number, name)
    if stream is None:
        return io.TextIOWrapper(io.BufferedWriter(file), encoding="utf-8", errors="backslashreplace")
    stream.flush()
    unbuffered = isinstance(stream.buffer, io.RawIOBase)  # python -u
    return io.TextIOWrapper(
        file if unbuffered else io.BufferedWriter(file),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
