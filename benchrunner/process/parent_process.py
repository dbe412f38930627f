"""Commands that end with the process that started them, also if that process is killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import subprocess

_PIPE = "BENCHRUNNER_STARTED_BY"
"""Environment variable with the number of a pipe's end, which reads as empty once the parent has ended."""


def start_bound(
    words: Sequence[str], *, env: Mapping[str, str], **settings: Any
) -> tuple[subprocess.Popen[bytes], int]:
    """Start a benchrunner command that gets SIGTERM when this process ends, even by kill -9.

    Return the process, and a file descriptor to close after the process has ended; -1 where the system has no such
    pipes. `settings` are those of `subprocess.Popen`.
    """
    import subprocess

    if os.name != "posix":
        return subprocess.Popen(words, env=env, **settings), -1
    read_end, write_end = os.pipe()
    try:
        process = subprocess.Popen(words, env={**env, _PIPE: str(read_end)}, pass_fds=(read_end,), **settings)
    except BaseException:
        os.close(write_end)
        raise
    finally:
        os.close(read_end)
    return process, write_end


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
