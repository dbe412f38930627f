"""The pool of worker processes: it hands out fits to free workers, stops them, and tells of those that die."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path

import pytest

from benchrunner import FitError
from benchrunner.runs import workers
from benchrunner.runs.core_shares import CoreShares
from benchrunner.runs.fit_orders import FitOrder
from chancy import chancy


@dataclass
class DeafProcess:
    """A process that goes on after SIGTERM, and ends when it is killed."""

    during_terminate: Callable[[], object] = lambda: None
    killed: bool = False

    def terminate(self) -> None:
        self.during_terminate()

    def poll(self) -> int | None:
        return -signal.SIGKILL if self.killed else None

    def kill(self) -> None:
        self.killed = True

    def wait(self) -> None:
        assert self.killed


def stop(process: DeafProcess) -> None:
    """Interrupt a pool of one worker."""
    connection, _ = Pipe()
    with pytest.raises(KeyboardInterrupt), workers.Workers(CoreShares.of([], 1)) as pool:
        pool._workers.append(workers.Worker(process, connection, "cpu"))  # type: ignore[arg-type]
        raise KeyboardInterrupt
    assert process.killed


def test_a_worker_that_does_not_stop_is_killed_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "GRACE_SECONDS", 0.05)
    stop(DeafProcess())


def test_a_second_ctrl_c_kills_workers_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "GRACE_SECONDS", 1e9)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        stop(DeafProcess(during_terminate=lambda: signal.raise_signal(signal.SIGINT)))
    finally:
        signal.signal(signal.SIGINT, before)


class Sink:
    """A connection that keeps the devices of the orders that are sent."""

    def __init__(self) -> None:
        self.devices = list[str]()

    def send(self, order: FitOrder) -> None:
        self.devices.append(order.computing.device)


def test_a_free_gpu_takes_the_next_fit(tmp_path: Path) -> None:
    made = chancy(tmp_path, {})
    fits = [made.planner.plan(made.plugins.tasks.find("mine/mood"), "words", seed=seed) for seed in range(4)]
    pool, sinks = workers.Workers(CoreShares.of(fits, 2)), [Sink(), Sink()]
    pool._workers += [workers.Worker(DeafProcess(), sink, f"cuda:{gpu}") for gpu, sink in enumerate(sinks)]  # type: ignore[arg-type]
    waiting = deque((fit, FitOrder.of(fit, made.fit_runner)) for fit in fits)
    pool._hand_out(waiting)
    for _ in range(2):
        pool._workers[1].fit = None  # finished, while the other fit goes on
        pool._hand_out(waiting)
    assert [sink.devices for sink in sinks] == [["cuda:0"], ["cuda:1"] * 3] and not waiting


HALF = """
import os, signal, subprocess, sys
from multiprocessing.connection import Connection
connection = Connection(int(sys.argv[1]))
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"], pass_fds=(connection.fileno(),))
os.write(connection.fileno(), b"\\x00\\x10\\x00\\x00half of a message")  # of 1 MiB
os.kill(os.getpid(), signal.SIGKILL)
"""
"""A worker that dies within a message, while a process that it started keeps the connection open."""
SILENT = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
"""A worker that dies before its first message."""


@pytest.mark.parametrize("code", [HALF, SILENT], ids=["half", "silent"])
def test_a_worker_that_is_killed_is_told(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def started(device: str) -> workers.Worker:
        ours, theirs = Pipe()
        words = [sys.executable, "-c", code, str(theirs.fileno())]
        process = subprocess.Popen(words, pass_fds=(theirs.fileno(),), start_new_session=True)
        theirs.close()
        return workers.Worker(process, ours, device)

    monkeypatch.setattr(workers, "_started", started)
    made = chancy(tmp_path, {})
    fit = made.planner.plan(made.plugins.tasks.find("mine/mood"), "words")
    pool = workers.Workers(CoreShares.of([fit], 1))
    began = time.monotonic()
    with pytest.raises(FitError, match=f"A worker process died while it ran the fit {fit.id}"), pool:
        list(pool.run([fit], made.fit_runner))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pool._workers[0].process.pid, signal.SIGKILL)
    assert time.monotonic() - began < 50
