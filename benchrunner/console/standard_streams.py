"""Standard streams of a process: closed ones, ones whose reader is gone, and output that is reserved for results."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TextIO, final

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


@final
class ReservedOutput:
    """Context manager that sends standard output to standard error, also that of C code and of child processes.

    Within it, `own_output` writes to standard output.
    """

    def __enter__(self) -> None:
        self._stream: TextIO | None = sys.stdout
        self._divert()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    @contextlib.contextmanager
    def released(self) -> Iterator[TextIO | None]:
        """Give standard output back within a `with` block."""
        self._restore()
        try:
            yield self._stream
            if self._stream is not None:
                self._stream.flush()
        finally:
            self._divert()

    def _divert(self) -> None:
        _flush(self._stream)
        self._descriptor: int | None = None
        with contextlib.suppress(OSError):  # a closed descriptor has nothing to protect
            self._descriptor = os.dup(_OUTPUT)
            os.dup2(_ERRORS, _OUTPUT)
        sys.stdout = _Diverted(self)

    def _restore(self) -> None:
        _flush(sys.__stdout__)  # what was written to the stream's own buffer meanwhile
        sys.stdout = self._stream
        if self._descriptor is not None:
            os.dup2(self._descriptor, _OUTPUT)
            os.close(self._descriptor)


@contextlib.contextmanager
def own_output() -> Iterator[TextIO | None]:
    """Yield standard output for a result, although it may be reserved. None if the process has none."""
    if isinstance(sys.stdout, _Diverted):
        with sys.stdout.reserved.released() as output:
            yield output
    else:
        yield sys.stdout


def is_reserved() -> bool:
    """Return whether standard output is reserved."""
    return isinstance(sys.stdout, _Diverted)


@final
class _Diverted:
    """Stand-in for standard output that behaves as standard error."""

    def __init__(self, reserved: ReservedOutput) -> None:
        self.reserved = reserved

    def write(self, text: str) -> int:
        return len(text) if sys.stderr is None else sys.stderr.write(text)

    def flush(self) -> None:
        _flush(sys.stderr)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr, name)


def _flush(stream: TextIO | None) -> None:
    with contextlib.suppress(OSError, ValueError):  # closed, or its reader is gone
        if stream is not None:
            stream.flush()
