"""Ctrl-C, held back until what is being done is whole."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Self


class HeldBack:
    """Within it Ctrl-C only sets `asked`; whoever works looks at that between two steps. A second one is not held back.

    Where signals are not ours to take, in a thread or in a process that ignores them, nothing changes.
    """

    def __init__(self) -> None:
        self.asked = False
        self._ours = False

    def __enter__(self) -> Self:
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        self._ours = usual and threading.current_thread() is threading.main_thread()
        if self._ours:
            signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.asked and kind is None:
            raise KeyboardInterrupt

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
