"""Several fits at once: processes that share the cores, each with its own copy of torch and of the plugins.

On a CPU, as many jobs as cores with one thread each finish more fits than one job over all cores.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.queues import SimpleQueue
from types import TracebackType
from typing import Any, Self

from benchrunner.errors import BenchrunnerError, FitError, RequestError
from benchrunner.executor import FitRunner
from benchrunner.fits import Fit
from benchrunner.plugins.discovery import discover
from benchrunner.progress import Event
from benchrunner.records import Record
from benchrunner.runs.runner import Runner
from benchrunner.workspace import Workspace

Messages = SimpleQueue[tuple[str, Event] | None]
"""From the workers: a fit's id and what happened in it; None ends the listening."""


class Workers:
    """A pool of processes. Leaving it ends them; what they had finished is on disk."""

    def __init__(self, jobs: int, *, threads: int) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy torch's threads in any state
        self._messages: Messages = context.SimpleQueue()
        self._pool = ProcessPoolExecutor(
            jobs, mp_context=context, initializer=_prepare, initargs=(threads, self._messages)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=kind is None, cancel_futures=True)
        for child in multiprocessing.active_children() if kind is not None else []:
            child.terminate()

    def run(self, fits: Iterable[Fit], runner: FitRunner) -> Iterator[tuple[Fit, Record]]:
        """Each fit with its record, as they finish; dev is predicted where the fit ran."""
        known = {fit.id: fit for fit in fits}
        listener = threading.Thread(target=self._listen, args=(known, runner), daemon=True)
        listener.start()
        settings = (runner.workspace, runner.device, runner.checkpoint_seconds)
        waiting = {self._pool.submit(_work, fit.as_dict(), *settings): fit for fit in known.values()}
        try:
            for done in as_completed(waiting):
                answer = done.result()
                if isinstance(answer, str):
                    raise RequestError(answer)
                yield waiting[done], Record.from_json(answer)
        except BrokenProcessPool:
            raise FitError(
                "A worker process died, perhaps of too little memory: use fewer --jobs. "
                "The same command goes on from here."
            ) from None
        finally:
            self._messages.put(None)
            listener.join()

    def _listen(self, known: dict[str, Fit], runner: FitRunner) -> None:
        while (message := self._messages.get()) is not None:
            fit = known.get(message[0])
            if fit is not None:  # a baseline that a fit needed is nobody's progress
                runner.report(fit, message[1])


_mine: dict[str, Any] = {}
"""What a worker process keeps from fit to fit; empty in every other process."""


def _prepare(threads: int, messages: Messages) -> None:
    """In every worker, before its first fit."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    sys.stdout = sys.stderr  # standard output is the parent's, and may be JSON that observers must not print into
    torch.set_num_threads(threads)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    _mine.update(messages=messages, plugins=discover())


def _end_with_the_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(fit: dict[str, Any], workspace: Workspace, device: str, checkpoint_seconds: float) -> dict[str, Any] | str:
    """One fit and its dev predictions: the record as JSON, or what is wrong with the request."""
    messages = _mine["messages"]
    runner = Runner(
        _mine["plugins"],
        workspace,
        device=device,
        checkpoint_seconds=checkpoint_seconds,
        report=lambda fit, event: messages.put((fit.id, event)),
    )
    try:
        wanted = Fit.from_dict(fit)
        record = runner.run(wanted)
        with contextlib.suppress(FitError):  # the parent predicts as well, meets the error again and tells of it
            for split in runner.plugins.task(wanted.task).named("dev") if record.status == "done" else []:
                runner.predict(wanted, split)
    except BenchrunnerError as error:
        return str(error)
    return record.as_json()
