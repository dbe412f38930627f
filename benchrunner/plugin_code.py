"""Calls of plugins' code: whatever a plugin raises becomes an error of benchrunner that names the culprit."""

from __future__ import annotations

import opcode
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import NoReturn, final

from benchrunner.errors import BenchrunnerError, PluginError, described
from benchrunner.io.files import is_disk_full

_RAISE = opcode.opmap["RAISE_VARARGS"]
"""The instruction of a `raise` statement."""
_CORE = __name__.partition(".")[0]


@final
class PluginFailure(PluginError):
    """An error that a plugin's code raised, and that is none of benchrunner's own."""

    def __init__(self, text: str, raised: BaseException) -> None:
        super().__init__(text)
        self.raised = raised


@final
class PluginCode:
    """Context manager around a call of a plugin's code: any error, even no `Exception`, becomes a `PluginFailure`.

    `what` says what failed; without it, the message is the reason alone.

    Errors of benchrunner pass, and so do a full disk and the user's own Ctrl-C. `os._exit`, which would end the process
    without a word, is an error too. What ends the process from outside of Python, such as a crash in C, is not caught.
    """

    def __init__(self, what: str = "") -> None:
        self._what = what
        self._place = os.getpid(), threading.get_ident()
        self._active = False

    def __enter__(self) -> None:
        self._active, self._exit = True, os._exit
        os._exit = self._refuse_exit

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._active, os._exit = False, self._exit
        if error is None or passes(error):
            return
        text = reason(error)
        raise PluginFailure(f"{self._what} failed: {text}." if self._what else text, error) from error

    def _refuse_exit(self, status: int) -> NoReturn:
        """Stand in for `os._exit`: an error in the plugin's own thread; child processes, threads and the core exit."""
        caller = str(sys._getframe(1).f_globals.get("__name__")).partition(".")[0]
        if self._active and self._place == (os.getpid(), threading.get_ident()) and caller != _CORE:
            raise SystemExit(f"it called os._exit({status})")
        self._exit(status)


def passes(error: BaseException) -> bool:
    """Return whether an error out of a plugin's code is not the plugin's own: the user's Ctrl-C, a full disk, ours."""
    is_ours = isinstance(error, BenchrunnerError) or (isinstance(error, OSError) and _is_of_core(error))
    return is_ours or is_interrupt(error)


def _is_of_core(error: OSError) -> bool:
    """Return whether the core raised an error of the system, which names the file, or the disk is full."""
    return is_disk_full(error) or not any(map(_is_foreign, _traces(error)))


def is_interrupt(error: BaseException) -> bool:
    """Return whether a Ctrl-C raised the error, and not a plugin with a `raise` statement of its own.

    Python raises an interrupt between any two instructions of a program; benchrunner and Python's own modules raise it
    by a statement, when a signal told them to.
    """
    if not isinstance(error, KeyboardInterrupt) or error.__traceback__ is None:
        return isinstance(error, KeyboardInterrupt)
    *_, trace = _traces(error)
    code, place = trace.tb_frame.f_code.co_code, trace.tb_lasti
    is_raised = 0 <= place < len(code) and code[place] == _RAISE
    return not is_raised or not _is_foreign(trace)


def reason(error: BaseException) -> str:
    """Describe an error of a plugin in one line, with the file and line where its code raised it."""
    codes = [(trace.tb_frame.f_code, trace.tb_lineno) for trace in _traces(error) if _is_foreign(trace)]
    places = [f" ({code.co_filename}:{line})" for code, line in codes if Path(code.co_filename).is_absolute()]
    return "".join([described(error).rstrip("."), *places[-1:]])


def _is_foreign(trace: TracebackType) -> bool:
    """Return whether the code belongs neither to the core nor to Python's own library."""
    package = str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0]
    return package != _CORE and package not in sys.stdlib_module_names


def _traces(error: BaseException) -> Iterator[TracebackType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace
        trace = trace.tb_next
