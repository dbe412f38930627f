"""Worker processes that run several fits at once, each with its own copy of torch and of the plugins.

On a CPU, as many workers as cores with one thread each finish more fits than one process with all cores.

A worker is a plain subprocess with one two-way connection to its parent. The parent hands out one fit at a time, so
that no fit is queued in a worker and could start after an interrupt. A worker ends when its connection closes, however
its parent died.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Self, final

from benchrunner.errors import FitError
from benchrunner.executor import FitRunner
from benchrunner.fits import Fit
from benchrunner.interrupts import HeldBack
from benchrunner.plugins.discovery import discover
from benchrunner.printing import print_note
from benchrunner.progress import Event
from benchrunner.records import Record
from benchrunner.runs.observers import Report
from benchrunner.runs.orders import FitAnswer, FitOrder

GRACE_SECONDS = 6.0
"""Time for workers to end their training step and write a checkpoint, before they are killed. With the time that the
parent itself needs, a command returns within ten seconds."""
POLL_SECONDS = 0.1
"""Time between two checks for an interrupt."""
SILENT_SECONDS = 600.0
"""Time without any message from a busy worker after which the user is told that it may hang. Encoding a large data set
takes minutes without a message; nothing is killed."""
STOPPED = 130
"""Exit code of a worker that was asked to stop and wrote a checkpoint."""

_START = "import sys; sys.path[:] = {path!r}; from benchrunner.runs.workers import work; work({descriptor}, {threads})"


@final
@dataclass
class Worker:
    """The parent's view of a worker process."""

    process: subprocess.Popen[bytes]
    connection: Connection[FitOrder | None, FitAnswer | tuple[str, Event]]
    fit: Fit | None = None
    """The fit that the worker runs now."""
    heard: float = field(default_factory=time.monotonic)
    """Time of the worker's last message, or of the last note about its silence."""


@final
class Workers:
    """A pool of worker processes. Leaving the pool ends them; finished fits are on disk."""

    def __init__(self, jobs: int, *, threads: int) -> None:
        self._jobs, self._threads = jobs, threads
        self._workers: list[Worker] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._dismiss()
        elif self._stop() and not isinstance(error, KeyboardInterrupt | GeneratorExit):
            raise KeyboardInterrupt

    def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
        """Yield each fit with its record as it finishes. Workers also predict dev, while they have the weights."""
        known = {fit.id: fit for fit in fits}
        waiting = deque((fit, FitOrder.of(fit, runner)) for fit in known.values())
        with HeldBack():
            for _ in range(min(self._jobs, len(waiting))):
                self._workers.append(_started(self._threads))
                self._hand_out(self._workers[-1], waiting)
        for _ in known:
            with HeldBack() as interrupt:
                worker, answer = self._next_answer(known, runner, interrupt)
                fit, worker.fit = worker.fit, None
                if answer.error is None and not interrupt.asked:
                    self._hand_out(worker, waiting)
            record = answer.record_in(runner.workspace.runs)
            assert fit is not None
            yield fit, record

    @staticmethod
    def _hand_out(worker: Worker, waiting: deque[tuple[Fit, FitOrder]]) -> None:
        """Give a worker its next fit, if there is one."""
        if waiting:
            worker.fit, order = waiting.popleft()
            worker.heard = time.monotonic()
            with contextlib.suppress(OSError):  # if the worker died, `_next_answer` finds out
                worker.connection.send(order)

    def _next_answer(self, known: dict[str, Fit], runner: FitRunner, interrupt: HeldBack) -> tuple[Worker, FitAnswer]:
        """Wait for the next finished order and report progress meanwhile. Raises KeyboardInterrupt on an interrupt."""
        workers = {worker.connection: worker for worker in self._workers}
        while True:
            for connection in wait(list(workers), POLL_SECONDS):
                worker = workers[connection]  # type: ignore[index]
                worker.heard = time.monotonic()
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    raise _death(worker, interrupt) from None
                if isinstance(message, FitAnswer):
                    return worker, message
                fit = known.get(message[0])
                if fit is not None:  # progress of a baseline that a fit needed is not reported
                    runner.report(fit, message[1])
            for worker in self._workers:
                _note_silence(worker)
            if interrupt.asked:
                raise KeyboardInterrupt

    def _dismiss(self) -> None:
        """Let the workers end by themselves once there is nothing left to do."""
        try:
            with HeldBack() as interrupt:
                for worker in self._workers:
                    with contextlib.suppress(OSError):
                        worker.connection.send(None)
                while not interrupt.asked and self._running():
                    time.sleep(POLL_SECONDS / 10)
        finally:
            self._kill()

    def _stop(self) -> bool:
        """End the workers; workers that train write a checkpoint if they manage it in time.

        Return whether a second Ctrl-C cut this short. Nothing is raised, since another exception is being handled.
        """
        deadline = time.monotonic() + GRACE_SECONDS
        hurry = False
        try:
            with HeldBack() as interrupt:
                for worker in self._workers:
                    worker.process.terminate()
                while not interrupt.asked and self._running() and time.monotonic() < deadline:
                    time.sleep(POLL_SECONDS / 10)
        except KeyboardInterrupt:
            hurry = True
        self._kill()
        return hurry

    def _running(self) -> bool:
        return any(worker.process.poll() is None for worker in self._workers)

    def _kill(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.wait()
            worker.connection.close()


def _started(threads: int) -> Worker:
    """Start a worker process. It can take its first order while it still imports torch."""
    ours, theirs = Pipe()
    command = _START.format(path=[str(folder) for folder in sys.path], descriptor=theirs.fileno(), threads=threads)
    # A terminal's Ctrl-C reaches the whole group, and the parent decides. Blocked here, it cannot reach a worker before
    # the worker ignores it.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        process = subprocess.Popen(
            [sys.executable, "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=2,  # standard output is the parent's, and may be JSON that nothing else must be printed into
            pass_fds=(theirs.fileno(),),
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
    return Worker(process, ours)


def _note_silence(worker: Worker) -> None:
    """Say on standard error that a busy worker has sent nothing for a long time."""
    if worker.fit is not None and time.monotonic() - worker.heard > SILENT_SECONDS:
        worker.heard = time.monotonic()
        fit, process = worker.fit, worker.process.pid
        print_note(
            f"benchrunner: the worker process {process} has reported nothing for {SILENT_SECONDS:.0f} s (fit {fit.id}: "
            f"{fit.backbone} on {fit.task}). If it hangs, stop with Ctrl-C: finished fits are kept, and the same "
            "command goes on from here."
        )


def _death(worker: Worker, interrupt: HeldBack) -> BaseException:
    """Return the exception for a worker that is gone. A scheduler's SIGTERM may reach a worker before its parent."""
    code = worker.process.wait()
    deadline = time.monotonic() + 1
    while code in (STOPPED, -signal.SIGTERM) and not interrupt.asked and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS / 10)
    if interrupt.asked:
        return KeyboardInterrupt()
    if code in (STOPPED, -signal.SIGTERM):
        return FitError("A worker process was stopped by SIGTERM. The same command goes on from here.")
    fit = worker.fit
    work = "" if fit is None else f" while it ran the fit {fit.id} ({fit.task}, {fit.backbone}, '{fit.method}')"
    return FitError(
        f"A worker process died{work}, perhaps of too little memory: use fewer --jobs. The same command goes on from "
        "here."
    )


def work(descriptor: int, threads: int) -> None:
    """Body of a worker process: run the fits that the parent hands out, one after another."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout = sys.stderr
    connection: Connection[FitAnswer | tuple[str, Event], FitOrder | None] = Connection(descriptor)
    orders: queue.SimpleQueue[FitOrder | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, orders), daemon=True).start()
    import torch

    torch.set_num_threads(threads)
    plugins, report = discover(), _reporter(connection)
    try:
        while (order := orders.get()) is not None:
            connection.send(order.run(plugins=plugins, report=report))
    except KeyboardInterrupt:  # the training was asked to stop, and has written its checkpoint
        sys.exit(STOPPED)


def _listen(
    connection: Connection[FitAnswer | tuple[str, Event], FitOrder | None], orders: queue.SimpleQueue[FitOrder | None]
) -> None:
    """Receive orders while fits run, and end the process when its parent is gone."""
    try:
        while (order := connection.recv()) is not None:
            orders.put(order)
        orders.put(None)
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)  # training writes a checkpoint first; anything else ends now
        time.sleep(GRACE_SECONDS)
        os._exit(1)


def _reporter(connection: Connection[FitAnswer | tuple[str, Event], FitOrder | None]) -> Report:
    """Make a callback that sends progress to the parent."""
    sending = threading.Lock()

    def report(fit: Fit, event: Event) -> None:
        with sending, contextlib.suppress(OSError):  # the parent may be gone
            connection.send((fit.id, event))

    return report
