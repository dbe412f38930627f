"""Requests to stop: Ctrl-C, a scheduler's SIGTERM, the end of a terminal (SIGHUP) or of the parent process.

Each of them ends a process by a `KeyboardInterrupt`, so that every `finally` and `with` of the work under way runs.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Self, final

from benchrunner.console.standard_streams import prepare_streams
from benchrunner.process.platform_facts import STOP_SIGNALS

if TYPE_CHECKING:
    import subprocess
    from multiprocessing.connection import Connection

_PIPE = "BENCHRUNNER_STARTED_BY"
"""Environment variable with the number of a pipe's end, which reads as empty once the parent has ended."""

_OF_TERMINALS = (signal.SIGINT, signal.SIGHUP)


@final
class Stopped(KeyboardInterrupt):
    """Raised where a signal other than Ctrl-C asked this process to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


def stop_on_signals() -> None:
    """Let SIGTERM and SIGHUP raise `Stopped` in this process, and Ctrl-C a `KeyboardInterrupt`.

    Ignored signals, such as SIGHUP under nohup, stay ignored. Forks of this process, which multiprocessing ends by
    SIGTERM, end at once.
    """
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _raise)
    os.register_at_fork(after_in_child=_end_forks)


def _end_forks() -> None:
    for number in STOP_SIGNALS:
        if signal.getsignal(number) is _raise:
            signal.signal(number, signal.SIG_DFL)


def number_of(stop: KeyboardInterrupt) -> int:
    """Return the number of the signal that asked to stop."""
    return stop.number if isinstance(stop, Stopped) else int(signal.SIGINT)


def interrupt_by(number: int) -> KeyboardInterrupt:
    """Return the exception for a signal that asks to stop."""
    return KeyboardInterrupt() if number == signal.SIGINT else Stopped(number)


def _raise(number: int, frame: FrameType | None) -> None:
    raise Stopped(number)


@final
class HeldBack:
    """Context manager that delays signals: a signal only sets `asked`, which the code inside reads between steps.

    A second Ctrl-C is not delayed, because a person at a terminal is in a hurry. A second SIGTERM is delayed:
    schedulers and parent processes send SIGTERM to each process of a group, so that a process may get it from both.
    Signals with a handler of other code, ignored signals, and signals outside the main thread are left alone.
    """

    def __init__(self) -> None:
        self.asked = False
        self._number: int = signal.SIGINT
        self._handlers: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
            ours = (signal.default_int_handler, signal.SIG_DFL, _raise)
            self._handlers = {number: handler for number, handler in handlers.items() if handler in ours}
        for number in self._handlers:
            signal.signal(number, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if self.asked and kind is None:
            raise self.interrupt()

    def interrupt(self) -> KeyboardInterrupt:
        """Return the exception for the signal that asked to stop."""
        return interrupt_by(self._number)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self._number = number
        self.asked = True
        if number == signal.SIGINT:
            signal.signal(number, signal.default_int_handler)


def start_bound(
    words: Sequence[str], *, env: Mapping[str, str], **settings: Any
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a benchrunner command that gets SIGTERM when this process ends, even by kill -9.

    Return the process, and a file descriptor to close after the process has ended. `settings` are those of
    `subprocess.Popen`.
    """
    import subprocess

    read_end, write_end = os.pipe()
    try:
        process = subprocess.Popen(words, env={**env, _PIPE: str(read_end)}, pass_fds=(read_end,), **settings)
    except BaseException:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    return process, write_end


def start_connected(work: Callable[[int], None]) -> tuple[subprocess.Popen[bytes], Connection[Any, Any]]:
    """Start a process that calls a function of a module, with the descriptor of a connection to this process.

    Return the process and this end of the connection. A terminal's Ctrl-C and its end do not reach the process before
    `accepted` takes the descriptor. Standard output is this process's alone, and may be JSON that nothing else must be
    printed into.
    """
    import subprocess
    from multiprocessing import Pipe

    ours, theirs = Pipe()
    path = [str(folder) for folder in sys.path]
    call = f"from {work.__module__} import {work.__name__}; {work.__name__}({theirs.fileno()})"
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _OF_TERMINALS)
    try:
        words = [sys.executable, "-c", f"import sys; sys.path[:] = {path!r}; {call}"]
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=2, pass_fds=(theirs.fileno(),))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
    return process, ours


def accepted(descriptor: int) -> Connection[Any, Any]:
    """Take the connection of a process that `start_connected` started, which ignores a terminal's signals from now."""
    from multiprocessing.connection import Connection

    for number in _OF_TERMINALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _OF_TERMINALS)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.set_inheritable(descriptor, False)
    prepare_streams()
    sys.stdout = sys.stderr
    return Connection(descriptor)


def end_with_parent() -> None:
    """Send SIGTERM to this process when the process that started it by `start_bound` ends; else do nothing.

    Training writes a checkpoint on SIGTERM.
    """
    number = os.environ.pop(_PIPE, "")  # not for the processes that this one starts
    if not number.isdecimal():
        return
    read_end = int(number)
    os.set_inheritable(read_end, False)

    def watch() -> None:
        os.read(read_end, 1)  # returns when the parent's end of the pipe is closed
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
