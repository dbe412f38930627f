"""The process that leads a fit on several devices. It alone decides, steps, logs and writes; helpers compute gradients.

A helper has no state of its own: it gets the weights before every step, computes the micro-batches that it is told to,
and gives its gradients. Processes therefore need not agree on anything, and the fit of one device has the same files.
"""

from __future__ import annotations

import contextlib
import math
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import FitError
from benchrunner.engine import Job
from benchrunner.results import FitAnswer, FitOrder, interrupts
from benchrunner_devices.dealing import dealt, tokens_of_parts
from benchrunner_devices.helper import help_fit
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
    from benchrunner_devices.exchange import Exchange

LAST_WORDS_SECONDS = 2.0
"""Time in which a helper whose connection has ended is expected to end."""
LOOKED_AT = 100
"""Steps that are looked at to find out whether their batches have a micro-batch for each device."""
ROOM = 1.15
"""Factor of an equal share of a batch by which the advised micro-batch is larger: sequences are not split."""


@final
class DeviceTeam:
    """Computes the steps of a training on several devices of this machine, each with a process, or by CUDA graphs."""

    def run(self, job: Job, training: steps.Training) -> None:
        """Start a helper for each further device, and train with them."""
        import torch

        if job.computing.devices == 1:
            from benchrunner_devices.captured import train_with_graphs

            train_with_graphs(training)
            return
        job.computing.check_devices()
        processes = job.computing.devices
        if text := unshared(training, processes):
            training.remark(text)
        threads = torch.get_num_threads()
        share = max(1, threads // processes)
        torch.set_num_threads(share)
        try:
            with tempfile.TemporaryDirectory(prefix="benchrunner-") as folder:
                meeting = Path(folder, "meeting")
                with contextlib.ExitStack() as helpers:
                    started = []
                    for rank in range(1, processes):
                        started.append(helpers.enter_context(Helper.started(rank)))
                        order = FitOrder(job.fit, job.workspace, device_of(job, rank), threads=share)
                        started[-1].send(Beginning(order, rank, processes, meeting))
                    Leader(training, started, meeting).run()
        finally:
            torch.set_num_threads(threads)


def device_of(job: Job, rank: int) -> Any:
    """Return how a helper computes: on the device that follows the leader's by `rank`."""
    import torch

    first = torch.device(job.computing.device)
    name = f"cuda:{(first.index or 0) + rank}" if first.type == "cuda" else job.computing.device
    return replace(job.computing, device=name, devices=1)


def unshared(training: steps.Training, processes: int) -> str:
    """Say that batches have fewer micro-batches than there are devices, and what to do; empty if they have enough."""
    counted = range(min(training.schedule.steps, LOOKED_AT))
    tokens = [tokens_of_parts(training, step) for step in counted]
    if sum(map(len, tokens)) >= processes * len(tokens):
        return ""
    mean_tokens = sum(map(sum, tokens)) / len(tokens)
    advised = math.ceil(ROOM * mean_tokens / processes)
    return (
        f"some of the {processes} devices have nothing to do: a batch has {mean_tokens:,.0f} tokens on average, and a "
        f"micro-batch up to {training.micro_tokens:,}. --set micro-tokens={advised} gives each device a part of a "
        "batch; dropout is then drawn for these parts, so this is another fit"
    )


@final
@dataclass(frozen=True)
class Helper:
    """The leader's view of a helper process."""

    rank: int
    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]

    @classmethod
    @contextlib.contextmanager
    def started(cls, rank: int) -> Iterator[Helper]:
        """Start a helper, and end it after the `with` block."""
        process, connection = interrupts.start_connected(help_fit)
        try:
            yield cls(rank, process, connection)
        finally:
            process.kill()
            process.wait()
            connection.close()

    def send(self, message: object) -> None:
        """Send a message; raise `Lost` if the process is gone."""
        try:
            self.connection.send(message)
        except OSError:
            raise self.lost() from None

    def receive(self) -> Any:
        """Wait for a message; raise `Lost` if the process is gone, and a `FitError` with its error if it failed."""
        try:
            message = self.connection.recv()
        except (EOFError, OSError):
            raise self.lost() from None
        if isinstance(message, FitAnswer):
            raise FitError(f"Process {self.rank} of the fit ended: {message.error}")
        return message

    def lost(self) -> Lost:
        """Return the error that says how the process ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(LAST_WORDS_SECONDS)
        code = self.process.poll()
        how = "gave up its connection" if code is None else f"ended with exit code {code}"
        if code is not None and code < 0:
            how = f"was ended by {signal.Signals(-code).name}"
        return Lost(
            f"Process {self.rank} of the fit {how}, perhaps of too little memory: use fewer --devices-per-fit or "
            "smaller micro-tokens (--set). The same command goes on from here."
        )


@final
class Lost(FitError):
    """A helper is gone."""


@final
class Leader:
    """Takes the steps of a training, whose gradients helpers compute with it."""

    def __init__(self, training: steps.Training, helpers: Sequence[Helper], meeting: Path) -> None:
        self._training = training
        self._helpers = helpers
        self._meeting = meeting
        self._weights = list(training.optimizer.named.values())
        self._exchange: Exchange | None = None

    def run(self) -> None:
        """Run the training; keep the state before the step in which a helper is lost."""
        from benchrunner_devices.exchange import Exchange

        training = self._training
        for helper in self._helpers:
            if helper.receive() != Plan.of(training):
                raise FitError(
                    f"Process {helper.rank} of the fit made another model, or other batches, than process 0: what "
                    "loads the backbone or the rows must depend on their files and the seed alone."
                )
        self._exchange = Exchange(self._meeting, 0, len(self._helpers) + 1, training.device)
        self._exchange.spread(list(untrained_state(training)))
        training.compute = self._compute
        try:
            training.run()
        finally:
            training.compute = training.gradients

    def _compute(self, step: int) -> Tensor:
        """Compute a step's gradients with the helpers and return the mean loss; if a helper is lost, keep the state."""
        try:
            return self._computed(step)
        except Lost:
            if step > 0:
                self._training.checkpoint.save(step, self._training.budgets, self._training.optimizer)
            raise

    def _computed(self, step: int) -> Tensor:
        training = self._training
        shares = self._shares(step)
        for helper, share in zip(self._helpers, shares[1:], strict=True):
            helper.send(Compute(step, training.micro_tokens, tuple(share)))
        with self._exchanging() as exchange:
            exchange.spread(self._weights)
        try:
            loss = training.gradients(step, None if training.problem.of_whole_batches else shares[0])
        except (RuntimeError, MemoryError):  # the training computes smaller parts, and asks the helpers again
            self._answers()
            raise
        answers = self._answers()
        for answer in answers:
            if answer.error is not None:
                raise answer.error
        trained = trained_by(training).union(*(answer.trained for answer in answers))
        for helper in self._helpers:
            helper.send(AddUp(trained))
        with self._exchanging() as exchange:
            exchange.add_up([*gradients_of(training, trained), loss])
        return loss

    def _shares(self, step: int) -> list[list[int]]:
        """Deal the micro-batches of a step. A loss over a whole batch is the leader's alone."""
        training = self._training
        tokens = tokens_of_parts(training, step)
        if training.problem.of_whole_batches:
            return [list(range(len(tokens))), *([] for _ in self._helpers)]
        return dealt(tokens, len(self._helpers) + 1)

    def _answers(self) -> list[Computed]:
        return [helper.receive() for helper in self._helpers]

    @contextlib.contextmanager
    def _exchanging(self) -> Iterator[Exchange]:
        """Give the exchange, whose errors end the fit: the other processes would wait in it."""
        assert self._exchange is not None
        try:
            yield self._exchange
        except RuntimeError as error:
            for helper in self._helpers:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    helper.process.wait(LAST_WORDS_SECONDS / len(self._helpers))
                    raise helper.lost() from None
            raise FitError(f"The devices of the fit could not exchange tensors: {error}") from error
