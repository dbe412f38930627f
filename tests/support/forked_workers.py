"""Worker processes that are forks of a short-lived process: a stand-in for `interrupts.start_connected`."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

import forked

Work = Callable[[int], None]


class Fork:
    """A fork of this process, with the methods that a pool of workers calls."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self, options: int = os.WNOHANG) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int | None:
        return self.poll(0)

    def terminate(self) -> None:
        self.send(signal.SIGTERM)

    def kill(self) -> None:
        self.send(signal.SIGKILL)

    def send(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def fork_connected(work: Work) -> tuple[Fork, Connection[Any, Any]]:
    """Fork this process, a short-lived one, and let the fork call a function with a connection to this process."""
    ours, theirs = Pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which only wait for the messages of workers
        pid = os.fork()
    if not pid:
        ours.close()
        os._exit(forked.exit_code(lambda: work(theirs.fileno())))
    theirs.close()
    return Fork(pid), ours
