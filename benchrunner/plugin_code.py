"""Calls of plugins' code: whatever a plugin raises becomes an error of benchrunner that names the culprit."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import final

from benchrunner.errors import BenchrunnerError, PluginError, described

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

    `what` says what failed; without it, the message is the reason alone. Errors of benchrunner pass, and so do a full
    disk and a `KeyboardInterrupt`. What ends the process at once, such as `os._exit` or a crash in C, is not caught.
    """

    def __init__(self, what: str = "") -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or passes(error):
            return
        text = reason(error)
        raise PluginFailure(f"{self._what} failed: {text}." if self._what else text, error) from error


def passes(error: BaseException) -> bool:
    """Return whether an error out of a plugin's code is not the plugin's own: the user's Ctrl-C, a full disk, ours."""
    if isinstance(error, OSError):
        from benchrunner.io.files import is_disk_full

        return is_disk_full(error) or not _foreign_places(error)
    return isinstance(error, BenchrunnerError | KeyboardInterrupt)


def reason(error: BaseException) -> str:
    """Describe an error of a plugin in one line, with the file and line where its code raised it."""
    text = described(error).rstrip(".")
    for file, line in reversed(_foreign_places(error)):
        if Path(file).is_absolute():
            return f"{text} ({file}:{line})"
    return text


def _foreign_places(error: BaseException) -> list[tuple[str, int]]:
    """List the files and lines of an error's traceback that belong neither to the core nor to Python's own library."""
    places = []
    import traceback

    for frame, line in traceback.walk_tb(error.__traceback__):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package != _CORE and package not in sys.stdlib_module_names:
            places.append((frame.f_code.co_filename, line))
    return places
