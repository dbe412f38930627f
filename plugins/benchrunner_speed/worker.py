"""Processes that hold one encoder each and do passes when they are asked, so that encoders can take turns."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, final

from benchrunner import FitError, RequestError, Workspace
from benchrunner.engine import first_line

if TYPE_CHECKING:
    from benchrunner.engine import Encoder

Load = Callable[[], "Encoder"]
"""Loads an encoder; it is sent to another process, so that it must be a function of a module, or a `partial` of one."""


@final
@dataclass(frozen=True)
class Place:
    """Where passes are computed, and how."""

    device: str
    precision: str
    threads: int


def load_backbone(name: str, workspace: Workspace) -> Encoder:
    """Load a backbone by name, folder, hub id or `run:ID`, with the plugins that are installed."""
    from benchrunner.results import Runner, discover

    return Runner(discover(), workspace).planner.backbone(name).load(workspace, seed=0)


@final
class Worker:
    """The parent's end of a process with one encoder."""

    def __init__(self, name: str, load: Load, place: Place) -> None:
        """Start the process. It loads the encoder while this one goes on; the first `ask` waits for it."""
        self._name = name
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, load, place), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, what: str, *arguments: int) -> Any:
        """Call a method of the process's `Bench` and return its result; errors there become a `FitError` here."""
        try:
            self._pipe.send((what, arguments))
            kind, value = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join()
            raise FitError(
                f"{self._name}: the process that held it ended (exit code {self._process.exitcode}), perhaps because "
                "the memory was not enough. Give smaller --batches, --lengths or --train-batch, or --no-training."
            ) from None
        if kind != "done":
            raise (RequestError if kind == "refused" else FitError)(f"{self._name}: {value}")
        return value

    def end(self) -> None:
        """End the process."""
        self._pipe.close()
        self._process.terminate()
        self._process.join()


@contextlib.contextmanager
def started(name: str, load: Load, place: Place) -> Iterator[Worker]:
    """Hold an encoder in a process of its own within the `with` block."""
    worker = Worker(name, load, place)
    try:
        yield worker
    finally:
        worker.end()


def _serve(pipe: Connection, load: Load, place: Place) -> None:
    """Load the encoder, then answer until the parent closes its end of the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which ends this process
    import torch

    from benchrunner_speed.bench import Bench

    torch.set_num_threads(place.threads)
    bench: Bench | None = None
    while True:
        try:
            what, arguments = pipe.recv()
        except EOFError:
            return
        try:
            bench = bench or Bench(load(), place.device, place.precision)
            answer = ("done", getattr(bench, what)(*arguments))
        except RequestError as error:
            answer = ("refused", str(error))
        except Exception as error:
            answer = ("failed", f"{type(error).__name__}: {first_line(error)}")
        pipe.send(answer)
