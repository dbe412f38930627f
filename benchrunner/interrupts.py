"""Delays Ctrl-C and a scheduler's SIGTERM until the current step is complete."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self, final

_DEFAULT_HANDLERS: dict[signal.Signals, Callable[..., Any] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
"""Handlers that are in place unless other code has set its own."""


@final
class HeldBack:
    """Context manager that delays signals: a signal only sets `asked`, which the code inside reads between steps.

    A second Ctrl-C is not delayed, because a person at a terminal is in a hurry. A second SIGTERM is delayed:
    schedulers and parent processes send SIGTERM to each process of a group, so that a process may get it from both.
    Signals with a handler of other code, ignored signals, and signals outside the main thread are left alone.
    """

    def __init__(self) -> None:
        self.asked = False
        self._delayed = list[signal.Signals]()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            handlers = _DEFAULT_HANDLERS.items()
            self._delayed = [number for number, handler in handlers if signal.getsignal(number) is handler]
        for number in self._delayed:
            signal.signal(number, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._delayed:
            signal.signal(number, _DEFAULT_HANDLERS[number])
        if self.asked and kind is None:
            raise KeyboardInterrupt

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if number == signal.SIGINT:
            signal.signal(number, _DEFAULT_HANDLERS[signal.SIGINT])
