"""Ctrl-C and a scheduler's SIGTERM, held back until what is being done is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

_USUAL: dict[signal.Signals, Callable[..., Any] | signal.Handlers] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
"""What answers them unless somebody else has taken them."""


class HeldBack:
    """Within it a signal only sets `asked`, which whoever works looks at between two steps.

    A second Ctrl-C goes through: somebody at a terminal is in a hurry. A second SIGTERM does not: schedulers and
    parent processes send it to each process of a group, so that a process may get it from both.
    Where signals are not ours to take, in a thread or in a process that ignores them, nothing changes.
    """

    def __init__(self) -> None:
        self.asked = False
        self._ours = list[signal.Signals]()

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._ours = [one for one, usual in _USUAL.items() if signal.getsignal(one) is usual]
        for one in self._ours:
            signal.signal(one, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in self._ours:
            signal.signal(one, _USUAL[one])
        if self.asked and kind is None:
            raise KeyboardInterrupt

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        if number == signal.SIGINT:
            signal.signal(number, _USUAL[signal.SIGINT])
