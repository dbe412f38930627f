"""A helper: a process that computes gradients for the process that leads a fit."""

from __future__ import annotations

import os
import queue
import signal
import threading
from typing import TYPE_CHECKING, Any

from benchrunner.engine import Job
from benchrunner.results import interrupts
from benchrunner_devices.messages import (
    AddUp,
    Beginning,
    Compute,
    Computed,
    Plan,
    gradients_of,
    trained_by,
    untrained_state,
)

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from torch import Tensor

    from benchrunner.engine import steps


def help_fit(descriptor: int) -> None:
    """Body of a helper process. It ends with its leader, and leaves signals that ask to stop to the leader."""
    connection = interrupts.accepted(descriptor)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, messages), daemon=True).start()
    beginning: Beginning = messages.get()
    connection.send(beginning.order.run(team=Helping(beginning, connection, messages)))


def _listen(connection: Connection[Any, Any], messages: queue.SimpleQueue[Any]) -> None:
    """Receive messages while the helper computes, and end the process when the leader is gone or needs it no more."""
    try:
        while True:
            messages.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)


class Helping:
    """The helper's part in a training."""

    def __init__(
        self, beginning: Beginning, connection: Connection[Any, Any], messages: queue.SimpleQueue[Any]
    ) -> None:
        self._beginning = beginning
        self._connection = connection
        self._messages = messages

    def run(self, job: Job, training: steps.Training) -> None:
        """Compute what the leader asks for, until the leader ends this process."""
        from benchrunner_devices.exchange import Exchange

        beginning = self._beginning
        self._connection.send(Plan.of(training))
        exchange = Exchange(beginning.meeting, beginning.rank, beginning.processes, training.device)
        exchange.spread(list(untrained_state(training)))
        weights = list(training.optimizer.named.values())
        loss: Tensor | None = None
        with training.prepared():
            while True:
                match self._messages.get():
                    case Compute() as asked:
                        exchange.spread(weights)
                        loss, answer = _computed(training, asked)
                        self._connection.send(answer)
                    case AddUp(trained):
                        assert loss is not None
                        exchange.add_up([*gradients_of(training, trained), loss])


def _computed(training: steps.Training, asked: Compute) -> tuple[Tensor | None, Computed]:
    """Compute gradients; return the loss and the answer. An error goes to the leader without its traceback, which keeps
    the tensors of the failed micro-batch in memory."""
    training.budgets = {0: asked.micro_tokens}
    try:
        loss = training.gradients(asked.step, asked.numbers)
        return loss, Computed(trained_by(training))
    except (RuntimeError, MemoryError) as error:
        failure = error.with_traceback(None)
    training.optimizer.clear()
    if training.device.type == "cuda":
        import torch

        torch.cuda.empty_cache()
    return None, Computed(error=failure)
