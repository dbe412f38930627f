"""Worker processes that are forks, which import torch no more: stand-ins for `interrupts.start_connected`."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from multiprocessing import Pipe
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

import forked

Work = Callable[[int], None]


class Worker(forked.Process):
    """A fork of the server of `forked`, with the further method that a pool of workers calls."""

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def start_connected(work: Work) -> tuple[Worker, Connection[Any, Any]]:
    """Let the server of `forked` start a process that calls a function with a connection to this process."""
    with Listener(family="AF_UNIX") as listener:
        words = [f"sys.path[:] = {sys.path!r}", f"from {work.__module__} import {work.__name__} as work"]
        call = f"forked_workers.call(work, {listener.address!r})"
        process = Worker(["-c", "\n".join(["import sys", *words, "import forked_workers", call])])
        return process, listener.accept()


def call(work: Work, address: str) -> None:
    """Connect this process to the one that listens, and call the function."""
    connection = Client(address)
    work(os.dup(connection.fileno()))


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
