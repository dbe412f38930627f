"""Leader and helpers of a fit with ZeRO: the leader says what all processes do together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, final

import torch
from torch import Tensor

from benchrunner import FitError
from benchrunner.engine import Job
from benchrunner_devices.dealing import dealt, tokens_of_parts
from benchrunner_devices.exchange import Exchange
from benchrunner_devices.zero.sharded import MOMENTS, Sharded

if TYPE_CHECKING:
    from benchrunner.engine import steps


class Addressee(Protocol):
    """A helper process, as the leader sees it."""

    def send(self, message: object) -> None:
        """Send a message."""


@final
@dataclass(frozen=True)
class Compute:
    """Asks for the gradients of some micro-batches: see `Sharded.compute`."""

    step: int
    numbers: tuple[int, ...]
    passes: int


@final
@dataclass(frozen=True)
class Step:
    """Asks for a step of the optimizer."""

    step: int
    lr: float


@final
@dataclass(frozen=True)
class GiveState:
    """Asks all to put the whole state together."""


@final
@dataclass(frozen=True)
class TakeState:
    """Announces a state that the leader spreads."""


@final
@dataclass(frozen=True)
class Release:
    """Asks all to put the whole weights together, and to part."""


def help_with(messages: Any, job: Job, training: steps.Training, exchange: Exchange) -> None:
    """Do what the leader asks for, until the leader ends this process."""
    sharded = Sharded(job, training)
    while True:
        match messages.get():
            case Compute() as asked:
                sharded.compute(asked.step, asked.numbers, asked.passes)
            case Step() as asked:
                sharded.step(asked.step, asked.lr)
            case GiveState():
                for _ in sharded.state():
                    pass
            case TakeState():
                sharded.restore(_spread(exchange, sharded, {}))
            case Release():
                sharded.release()
                sharded.close()


def _spread(exchange: Exchange, sharded: Sharded, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Give the leader's state to all; moments that it lacks are zero."""
    state = {}
    for name in sharded.names.values():
        for part in ("weight", *MOMENTS):
            given = tensors.get(f"{part}/{name}")
            state[f"{part}/{name}"] = torch.zeros(sharded.shapes[name]) if given is None else given.clone()
    exchange.spread(list(state.values()))
    return state


@final
class SharedOptimizer:
    """What the training loop takes for its optimizer: every process has a part of it."""

    def __init__(self, sharded: Sharded, training: steps.Training, helpers: Sequence[Addressee], exchange: Exchange):
        self._sharded = sharded
        self._training = training
        self._helpers = helpers
        self._exchange = exchange
        self._is_released = False
        self._last: list[tuple[str, Tensor]] = []

    @property
    def named(self) -> Mapping[str, Tensor]:
        """The weights by name; without content until the last step is taken."""
        if self._is_released:
            return self._training.means.optimizer.named
        return {name: torch.empty(shape, device="meta") for name, shape in self._sharded.shapes.items()}

    def clear(self) -> None:
        """Say that micro-batches cannot be made smaller: the processes have added up a part of their gradients."""
        raise FitError("Out of memory: give smaller --micro-tokens, or --zero 3 with --offload.")

    def allocate(self) -> None:
        """Do nothing: DeepSpeed has made the moments."""

    def compute(self, step: int) -> Tensor:
        """Compute the gradients of a step in all processes; return the mean loss."""
        shares = dealt(tokens_of_parts(self._training, step), len(self._helpers) + 1)
        passes = max(map(len, shares))
        for helper, share in zip(self._helpers, shares[1:], strict=True):
            helper.send(Compute(step, tuple(share), passes))
        return self._sharded.compute(step, shares[0], passes)

    def step(self, step: int, lr: float) -> None:
        """Take a step in all processes; after the last one, put the whole weights together."""
        self._tell(Step(step, lr))
        self._sharded.step(step, lr)
        if step + 1 == self._training.schedule.steps:
            self._release()

    def _release(self) -> None:
        if self._training.last_state is not None:  # a longer fit goes on from it
            self._last = [(name, tensor.cpu().clone()) for name, tensor in self.state()]
        self._tell(Release())
        self._sharded.release()
        self._sharded.close()
        self._is_released = True

    def state(self) -> Iterator[tuple[str, Tensor]]:
        """Give weights and moments by name; after the last step only weights, unless a longer fit needs the moments."""
        if self._is_released:
            weights = [(f"weight/{name}", weight.detach()) for name, weight in self.named.items()]
            return iter(self._last or weights)
        self._tell(GiveState())
        return self._sharded.state()

    def restore(self, tensors: Mapping[str, Tensor], step: int) -> None:
        """Put back the weights and moments that `state` gave."""
        self._tell(TakeState())
        self._sharded.restore(_spread(self._exchange, self._sharded, tensors))
        if step == self._training.schedule.steps:
            self._release()

    def _tell(self, message: object) -> None:
        for helper in self._helpers:
            helper.send(message)


def run_with_zero(job: Job, training: steps.Training, helpers: Sequence[Addressee], exchange: Exchange) -> None:
    """Run a training whose state all processes share."""
    from torch import distributed

    if training.problem.of_whole_batches:
        raise FitError("A loss over a whole batch, as of contrastive learning, cannot be computed with --zero.")
    plain = training.optimizer
    try:
        optimizer: Any = SharedOptimizer(Sharded(job, training), training, helpers, exchange)
        training.optimizer = optimizer
        training.compute = optimizer.compute
        training.run()
    finally:
        training.optimizer = plain
        training.compute = training.gradients
        if distributed.is_initialized():
            distributed.destroy_process_group()
