"""Worker processes that run several fits at once, each with its own copy of torch and of the plugins.

A worker is a plain subprocess with one two-way connection to its parent. The parent hands out one fit at a time, so
that no fit is queued in a worker and could start after an interrupt. A worker ends when its connection closes, however
its parent died.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self, final

from benchrunner.errors import FitError
from benchrunner.fits.computing import Computing
from benchrunner.fits.executor import FitRunner
from benchrunner.fits.fit import Fit, Record
from benchrunner.fits.progress import Event
from benchrunner.plugins.discovery import discover
from benchrunner.plugins.loading import end_beside_threads
from benchrunner.process.interrupts import HeldBack, accepted, start_connected
from benchrunner.runs.core_shares import CoreShares
from benchrunner.runs.fit_orders import FitAnswer, FitOrder
from benchrunner.runs.runner import Report, Runner

GRACE_SECONDS = 6.0
"""Time for workers to end their training step and write a checkpoint, before they are killed. With the time that the
parent itself needs, a command returns within ten seconds."""
POLL_SECONDS = 0.1
"""Time between two checks for an interrupt."""
STOPPED = 130
"""Exit code of a worker that was asked to stop and wrote a checkpoint."""
LAST_WORDS_SECONDS = 1.0
"""Time in which the messages of a worker that has ended are received. A process that the worker started may keep the
connection open for ever."""

Message = FitAnswer | tuple[str, Event]
"""Message of a worker: the answer to an order, or an event of the fit with an id."""
Box = queue.SimpleQueue[tuple[int, Message | None]]
"""Messages of all workers, each with the worker's process id. None says that the connection has ended."""


@final
@dataclass
class Worker:
    """The parent's view of a worker process."""

    process: subprocess.Popen[bytes]
    connection: Connection[FitOrder | None, Message]
    device: str
    """Device of all fits of the worker. Workers are spread evenly over several GPUs."""
    fit: Fit | None = None
    """The fit that the worker runs now."""
    ended: float | None = None
    """Time at which the process was first seen to have ended."""

    def listen(self, box: Box) -> None:
        """Receive messages in a thread: half a message from a worker that dies must not block the parent."""
        threading.Thread(target=self._receive, args=(box,), daemon=True).start()

    def is_dead(self) -> bool:
        """Return whether the process ended so long ago that no message is under way any more."""
        if self.ended is None and self.process.poll() is not None:
            self.ended = time.monotonic()
        return self.ended is not None and time.monotonic() - self.ended > LAST_WORDS_SECONDS

    def _receive(self, box: Box) -> None:
        try:
            while True:
                box.put((self.process.pid, self.connection.recv()))
        except Exception:  # the worker or the pool has ended; half a message may have any content
            box.put((self.process.pid, None))


@final
class Workers:
    """A pool of worker processes. Leaving the pool ends them; finished fits are on disk."""

    def __init__(self, shares: CoreShares) -> None:
        self._shares = shares
        self._workers: list[Worker] = []
        self._box: Box = queue.SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._dismiss()
        else:
            self._stop()

    def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
        """Yield each fit with its record as it finishes. Workers also predict dev, while they have the weights."""
        known = {fit.id: fit for fit in fits}
        threads = self._shares.threads
        computing = runner.computing.resolved()
        waiting = deque(
            (fit, FitOrder.of(fit, runner, device=computing.device, threads=threads[fit.id])) for fit in known.values()
        )
        with HeldBack():
            for own_device in devices_of_workers(computing, min(self._shares.jobs, len(waiting))):
                self._workers.append(_started(own_device))
                self._workers[-1].listen(self._box)
                self._hand_out(waiting)
        for _ in known:
            with HeldBack() as interrupt:
                worker, answer = self._next_answer(known, runner, interrupt)
                fit, worker.fit = worker.fit, None
                if answer.error is None and not interrupt.asked:
                    self._hand_out(waiting)
            record = answer.checked()
            assert fit is not None
            yield fit, record

    def _hand_out(self, waiting: deque[tuple[Fit, FitOrder]]) -> None:
        """Give idle workers their next fits, as long as there are cores for the threads of the next fit."""
        for worker in self._workers:
            if worker.fit is None and waiting and self._has_cores_for(waiting[0][0]):
                worker.fit, order = waiting.popleft()
                with contextlib.suppress(OSError):  # if the worker died, `_next_answer` finds out
                    worker.connection.send(order.on(worker.device))

    def _has_cores_for(self, fit: Fit) -> bool:
        """Whether no fit runs, or the threads of the running fits leave enough cores for a further fit."""
        threads = self._shares.threads
        taken = sum(threads[worker.fit.id] for worker in self._workers if worker.fit is not None)
        return not taken or taken + threads[fit.id] <= self._shares.cores

    def _next_answer(self, known: dict[str, Fit], runner: FitRunner, interrupt: HeldBack) -> tuple[Worker, FitAnswer]:
        """Wait for the next finished order and report progress meanwhile. Raises KeyboardInterrupt on an interrupt."""
        workers = {worker.process.pid: worker for worker in self._workers}
        while True:
            with contextlib.suppress(queue.Empty):
                process, message = self._box.get(timeout=POLL_SECONDS)
                worker = workers[process]
                if message is None:
                    raise _death(worker, interrupt)
                if isinstance(message, FitAnswer):
                    return worker, message
                fit = known.get(message[0])
                if fit is not None:  # progress of a baseline that a fit needed is not reported
                    runner.report(fit, message[1])
            for worker in self._workers:
                if worker.is_dead() and self._box.empty():
                    raise _death(worker, interrupt)
            if interrupt.asked:
                raise interrupt.interrupt()

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

    def _stop(self) -> None:
        """End the workers; workers that train write a checkpoint if they manage it in time.

        A second Ctrl-C cuts this short. Nothing is raised, since another exception is being handled.
        """
        deadline = time.monotonic() + GRACE_SECONDS
        with contextlib.suppress(KeyboardInterrupt), HeldBack() as interrupt:
            for worker in self._workers:
                worker.process.terminate()
            while not interrupt.asked and self._running() and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS / 10)
        self._kill()

    def _running(self) -> bool:
        return any(worker.process.poll() is None for worker in self._workers)

    def _kill(self) -> None:
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.wait()
            _close(worker.connection)


def _started(device: str) -> Worker:
    """Start a worker process. It can take its first order while it still imports torch."""
    return Worker(*start_connected(work), device)


def devices_of_workers(computing: Computing, jobs: int) -> list[str]:
    """Return the first device of each of several worker processes: the GPUs in turn, if the device is any GPU."""
    import torch

    count = torch.cuda.device_count() if computing.device == "cuda" else 0
    firsts = range(0, jobs * computing.devices, computing.devices)
    return [f"cuda:{first % count}" if count > 1 else computing.device for first in firsts]


def _close(connection: Connection[FitOrder | None, Message]) -> None:
    """Close a connection; first wake the thread that receives from it, which would else wait for the worker's forks."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as end:
        end.shutdown(socket.SHUT_RDWR)
    connection.close()


def _death(worker: Worker, interrupt: HeldBack) -> BaseException:
    """Return the exception for a worker that is gone. A scheduler's SIGTERM may reach a worker before its parent."""
    try:
        code = worker.process.wait(LAST_WORDS_SECONDS)
    except subprocess.TimeoutExpired:  # it lives, but sent what cannot be read
        worker.process.kill()
        code = worker.process.wait()
    deadline = time.monotonic() + 1
    while code in (STOPPED, -signal.SIGTERM) and not interrupt.asked and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS / 10)
    if interrupt.asked:
        return interrupt.interrupt()
    if code in (STOPPED, -signal.SIGTERM):
        return FitError("A worker process was stopped by SIGTERM. The same command goes on from here.")
    fit = worker.fit
    work = "" if fit is None else f" while it ran the fit {fit.id} ({fit.task}, {fit.backbone}, '{fit.method}')"
    return FitError(
        f"A worker process died{work}, perhaps of too little memory: use fewer --jobs. The same command goes on from "
        "here."
    )


def work(descriptor: int) -> None:
    """Body of a worker process: run the fits that the parent hands out, one after another."""
    connection: Connection[Message, FitOrder | None] = accepted(descriptor)
    orders: queue.SimpleQueue[FitOrder | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, orders), daemon=True).start()
    import torch  # noqa: F401 - else a plugin that imports torch would seem to load slowly

    plugins, report, runners = discover(), _reporter(connection), dict[Any, Runner]()
    try:
        while (order := orders.get()) is not None:
            connection.send(order.run(plugins=plugins, report=report, runners=runners))
    except KeyboardInterrupt:  # the training was asked to stop, and has written its checkpoint
        end_beside_threads(STOPPED)
        sys.exit(STOPPED)
    end_beside_threads(0)


def _listen(connection: Connection[Message, FitOrder | None], orders: queue.SimpleQueue[FitOrder | None]) -> None:
    """Receive orders while fits run, and end the process when its parent is gone."""
    try:
        while (order := connection.recv()) is not None:
            orders.put(order)
        orders.put(None)
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)  # training writes a checkpoint first; anything else ends now
        time.sleep(GRACE_SECONDS)
        os._exit(1)


def _reporter(connection: Connection[Message, FitOrder | None]) -> Report:
    """Make a callback that sends progress to the parent."""
    sending = threading.Lock()

    def report(fit: Fit, event: Event) -> None:
        with sending, contextlib.suppress(OSError):  # the parent may be gone
            connection.send((fit.id, event))

    return report
