"""Messages between the process that leads a fit and its helpers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner.results import FitOrder

if TYPE_CHECKING:
    from torch import Tensor

    from benchrunner.engine import steps


@final
@dataclass(frozen=True)
class Beginning:
    """The first message to a helper: what it takes part in."""

    order: FitOrder
    """The fit, with the helper's device and its number of threads."""
    rank: int
    processes: int
    meeting: Path
    """File by which the processes find one another."""


@final
@dataclass(frozen=True)
class Plan:
    """A helper's answer to `Beginning`: what it will train. All processes of a fit must have the same plan."""

    step_count: int
    weights: tuple[tuple[str, tuple[int, ...]], ...]
    """Name and shape of each trained weight."""

    @classmethod
    def of(cls, training: steps.Training) -> Plan:
        """Take the plan from a training."""
        shapes = [(name, tuple(weight.shape)) for name, weight in training.optimizer.named.items()]
        return cls(training.schedule.steps, tuple(shapes))


@final
@dataclass(frozen=True)
class Compute:
    """Asks a helper for the gradients of some micro-batches, with the weights that the leader spreads next."""

    step: int
    micro_tokens: int
    numbers: tuple[int, ...]


@final
@dataclass(frozen=True)
class Computed:
    """A helper's answer to `Compute`."""

    trained: frozenset[str] = frozenset()
    """Names of the weights that have a gradient."""
    error: Exception | None = None
    """What went wrong, such as too little memory."""


@final
@dataclass(frozen=True)
class AddUp:
    """Lets a helper give its loss, and its gradients of the named weights, which are zero where it has none."""

    trained: frozenset[str]


def trained_by(training: steps.Training) -> frozenset[str]:
    """Name the weights that have a gradient."""
    return frozenset(name for name, weight in training.optimizer.named.items() if weight.grad is not None)


def gradients_of(training: steps.Training, trained: frozenset[str]) -> Iterator[Tensor]:
    """Give the gradients of some weights, always in the same order; make those of zero that are missing."""
    import torch

    for name, weight in training.optimizer.named.items():
        if name in trained:
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
            yield weight.grad


def untrained_state(training: steps.Training) -> Iterator[Tensor]:
    """Give the tensors of the modules that stay as they are in training, always in the same order."""
    trained = set(training.optimizer.named.values())
    for module in training.modules.values():
        yield from (weight.data for weight in module.parameters() if weight not in trained)
        yield from module.buffers()
