"""Several fits at once: processes that share the cores, each with its own copy of torch and of the plugins.

On a CPU, as many jobs as cores with one thread each finish more fits than one job over all cores.

A worker is a plain subprocess with one two-way connection to its parent. The parent hands out one fit at a time, so
that nothing is queued in a worker that could begin after an interrupt. A worker ends when its connection closes,
however its parent died.
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
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Self, final

from benchrunner.errors import BenchrunnerError, FitError, RequestError, described
from benchrunner.executor import FitRunner
from benchrunner.fits import Fit
from benchrunner.interrupts import HeldBack
from benchrunner.plugins.discovery import discover
from benchrunner.plugins.registry import Plugins
from benchrunner.progress import Event
from benchrunner.records import Record
from benchrunner.runs.runner import Runner
from benchrunner.workspace import Workspace

GRACE_SECONDS = 6.0
"""For workers to end their training step and to leave a checkpoint, before they are killed. With the time that the
parent itself needs, a command returns within ten seconds."""
POLL_SECONDS = 0.1
"""Between two looks at whether somebody asked to stop."""
STOPPED = 130
"""Exit code of a worker that was asked to stop and left a checkpoint."""

_START = "import sys; sys.path[:] = {path!r}; from benchrunner.runs.workers import work; work({descriptor}, {threads})"


@final
@dataclass(frozen=True)
class Order:
    """One fit for a worker, and where and how to run it."""

    fit: dict[str, Any]
    workspace: Workspace
    device: str
    checkpoint_seconds: float


@final
@dataclass(frozen=True)
class Answer:
    """What became of an order: a record as JSON, or the error that ends the whole command."""

    record: dict[str, Any] | None = None
    error: Exception | None = None
    """A RequestError, a FitError or an OSError."""


@final
@dataclass
class Worker:
    """The parent's view of a worker process."""

    process: subprocess.Popen[bytes]
    connection: Connection[Order | None, Answer | tuple[str, Event]]
    fit: Fit | None = None
    """What it runs."""


@final
class Workers:
    """A pool of processes. Leaving it ends them; what they had finished is on disk."""

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
        """Each fit with its record, as they finish; dev is predicted where the fit ran."""
        known = {fit.id: fit for fit in fits}
        settings = (runner.workspace, runner.device, runner.checkpoint_seconds)
        waiting = deque((fit, Order(fit.as_dict(), *settings)) for fit in known.values())
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
            if answer.error is not None:
                raise answer.error
            assert fit is not None and answer.record is not None
            yield fit, Record.from_json(answer.record)

    @staticmethod
    def _hand_out(worker: Worker, waiting: deque[tuple[Fit, Order]]) -> None:
        """Give a worker its next fit, if there is one."""
        if waiting:
            worker.fit, order = waiting.popleft()
            with contextlib.suppress(OSError):  # its death is told where its answer is waited for
                worker.connection.send(order)

    def _next_answer(self, known: dict[str, Fit], runner: FitRunner, interrupt: HeldBack) -> tuple[Worker, Answer]:
        """The next finished order; progress is reported meanwhile. A KeyboardInterrupt where a stop is asked for."""
        workers = {worker.connection: worker for worker in self._workers}
        while True:
            for connection in wait(list(workers), POLL_SECONDS):
                worker = workers[connection]  # type: ignore[index]
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    raise _death(worker, interrupt) from None
                if isinstance(message, Answer):
                    return worker, message
                fit = known.get(message[0])
                if fit is not None:  # a baseline that a fit needed is nobody's progress
                    runner.report(fit, message[1])
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
        """End the workers: those that train leave a checkpoint if they manage it in time. Whether Ctrl-C cut it short.

        Nothing is raised here, since an error is already on its way.
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
    """A new worker process; it takes its first order while it still imports torch."""
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


def _death(worker: Worker, interrupt: HeldBack) -> BaseException:
    """Why a worker is gone: the scheduler's signal to the whole group may have reached it before its parent."""
    code = worker.process.wait()
    deadline = time.monotonic() + 1
    while code in (STOPPED, -signal.SIGTERM) and not interrupt.asked and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS / 10)
    if interrupt.asked:
        return KeyboardInterrupt()
    if code in (STOPPED, -signal.SIGTERM):
        return FitError("A worker process was stopped by SIGTERM. The same command goes on from here.")
    return FitError(
        "A worker process died, perhaps of too little memory: use fewer --jobs. The same command goes on from here."
    )


def work(descriptor: int, threads: int) -> None:
    """Body of a worker process: run the fits that the parent hands out, one after another."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout = sys.stderr
    connection: Connection[Answer | tuple[str, Event], Order | None] = Connection(descriptor)
    orders: queue.SimpleQueue[Order | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, orders), daemon=True).start()
    import torch

    torch.set_num_threads(threads)
    plugins = discover()
    try:
        while (order := orders.get()) is not None:
            connection.send(_answer(order, plugins, connection))
    except KeyboardInterrupt:  # the training was asked to stop, and has left its checkpoint
        sys.exit(STOPPED)


def _listen(
    connection: Connection[Answer | tuple[str, Event], Order | None], orders: queue.SimpleQueue[Order | None]
) -> None:
    """Take orders while others run, and end the process when its parent is gone."""
    try:
        while (order := connection.recv()) is not None:
            orders.put(order)
        orders.put(None)
    except (EOFError, OSError):
        os.kill(os.getpid(), signal.SIGTERM)  # a training leaves a checkpoint first; anything else ends now
        time.sleep(GRACE_SECONDS)
        os._exit(1)


def _answer(order: Order, plugins: Plugins, connection: Connection[Answer | tuple[str, Event], Order | None]) -> Answer:
    """One fit and its dev predictions."""
    sending = threading.Lock()

    def report(fit: Fit, event: Event) -> None:
        with sending, contextlib.suppress(OSError):  # a parent that is gone is no fault of the fit
            connection.send((fit.id, event))

    runner = Runner(
        plugins, order.workspace, device=order.device, checkpoint_seconds=order.checkpoint_seconds, report=report
    )
    try:
        wanted = Fit.from_dict(order.fit)
        record = runner.run(wanted)
        with contextlib.suppress(FitError):  # the parent predicts as well, meets the error again and tells of it
            for split in plugins.task(wanted.task).named("dev") if record.status == "done" else []:
                runner.predict(wanted, split)
    except RequestError as error:  # as the root's text alone: a subclass may not survive the way through pickle
        return Answer(error=RequestError(str(error)))
    except BenchrunnerError as error:
        return Answer(error=FitError(str(error)))
    except OSError as error:  # a full disk, a folder that cannot be written
        text = str(error.strerror or error)
        return Answer(error=OSError(error.errno, text, error.filename, None, error.filename2))
    except Exception as error:
        traceback.print_exc()
        return Answer(error=FitError(f"A worker process failed, as said above: {described(error)}"))
    return Answer(record.as_json())
