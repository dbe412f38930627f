"""Calls of plugins' code: whatever a plugin raises becomes an error of benchrunner that names the culprit."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import final

from benchrunner.errors import UNPRINTABLE, BenchrunnerError, PluginError, described, message_of

_CORE = "benchrunner"


@final
class PluginFailure(PluginError):
    """An error that a plugin's code raised, and that is none of benchrunner's own."""

    def __init__(self, text: str, raised: BaseException) -> None:
        super().__init__(text)
        self.raised = raised


@contextlib.contextmanager
def guarded(what: str = "") -> Iterator[None]:
    """Call a plugin's code within the `with` block: any error, even no `Exception`, becomes a `PluginFailure`.

    `what` says what failed; without it, the message is the reason alone. Errors of benchrunner pass, and so do a full
    disk and a `KeyboardInterrupt`. What ends the process at once, such as `os._exit` or a crash in C, is not caught.
    """
    try:
        yield
    except BaseException as error:
        if passes(error):
            raise
        text = reason(error)
        raise PluginFailure(f"{what} failed: {text}." if what else text, error) from error


def passes(error: BaseException) -> bool:
    """Return whether an error out of a plugin's code is not the plugin's own: the user's Ctrl-C, a full disk, ours."""
    if isinstance(error, OSError):
        from benchrunner.io.files import full_disk

        return not foreign_places(error) or full_disk(error) > 0
    return isinstance(error, BenchrunnerError | KeyboardInterrupt) and message_of(error) != UNPRINTABLE


def reason(error: BaseException) -> str:
    """Describe an error of a plugin in one line, with the file and line where its code raised it."""
    text = described(error).rstrip(".")
    for _, file, line in reversed(foreign_places(error)):
        if Path(file).is_absolute():
            return f"{text} ({file}:{line})"
    return text


def foreign_places(error: BaseException) -> list[tuple[str, str, int]]:
    """List the packages, files and lines of an error's traceback that are not the core's or Python's own library's."""
    places = []
    import traceback

    for frame, line in traceback.walk_tb(error.__traceback__):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package != _CORE and package not in sys.stdlib_module_names:
            places.append((package, frame.f_code.co_filename, line))
    return places
