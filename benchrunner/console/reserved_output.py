"""Standard output that is reserved for the results of a command: whatever else is printed goes to standard error."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TextIO, final

_OUTPUT, _ERRORS = 1, 2
"""File descriptors of the standard streams."""


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
