"""Loading: run the code with which plugins announce what they offer, and name a plugin that is slow at it."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, Self, final

from benchrunner.console.printing import print_note
from benchrunner.console.standard_streams import ReservedOutput, is_reserved
from benchrunner.process.torch_settings import reset_torch, torch_settings

PATIENCE_SECONDS = 5.0
"""Seconds after which a plugin that is still loading is named: an endless loop must not look like a slow command."""

_STARTED_BY = "benchrunner_plugin"
"""Attribute of threads that a plugin started while it was loaded."""


def end_beside_threads(code: int) -> None:
    """End this process with an exit code if it has a thread that a plugin started while it was loaded.

    Python would wait for such a thread, perhaps without end, before it ends the process.
    """
    if any(hasattr(thread, _STARTED_BY) and not thread.daemon for thread in threading.enumerate()):
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(code)


@final
class Loading:
    """Context manager in which plugins are loaded. What they print goes to standard error, not into JSON."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._plugin: tuple[str, float] | None = None
        """Name of the plugin whose code runs now, and when it began."""
        self._output = contextlib.nullcontext() if is_reserved() else ReservedOutput()

    def __enter__(self) -> Self:
        self._output.__enter__()
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._ended.set()
        self._output.__exit__(*error)

    @contextlib.contextmanager
    def plugin(self, name: str) -> Iterator[None]:
        """Run a plugin's code in a `with` block; torch settings that it changes are restored, and a note says so."""
        self._plugin = (name, time.monotonic())
        before = torch_settings()
        running = threading.enumerate()
        try:
            yield
        finally:
            self._plugin = None
            for setting, value in reset_torch(before).items():
                print_note(
                    f"benchrunner: the plugin '{name}' set torch's {setting} to {value}, for all fits of this process. "
                    f"It is {before[setting]} again."
                )
            for thread in threading.enumerate():
                if thread not in running:
                    setattr(thread, _STARTED_BY, name)

    def _watch(self) -> None:
        while not self._ended.wait(PATIENCE_SECONDS / 4):
            plugin = self._plugin
            if plugin is not None and time.monotonic() - plugin[1] >= PATIENCE_SECONDS:
                self._plugin = None  # named once
                print_note(
                    f"benchrunner: still loading the plugin '{plugin[0]}'. If it never ends, stop with Ctrl-C and "
                    "uninstall the plugin."
                )
