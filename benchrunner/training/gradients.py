"""How the gradients of a training step are computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Protocol, final

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from benchrunner.backbones.encoder import Encoder
from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import FlatBatch, collate, rounding
from benchrunner.features.kernels import Kernels
from benchrunner.features.randomness import Dropout
from benchrunner.problems.problem import Problem
from benchrunner.training.half_weights import HalfWeights
from benchrunner.training.optimizer import Optimizer
from benchrunner.training.precision import precise


class NotStatic(RuntimeError):
    """Code reads a value of a batch of fixed shape that is not in a tensor, such as the length of a sequence.

    What computes steps in fixed shapes would use this value for all later batches: steps are computed by `Eager` then.
    """


@final
@dataclass(frozen=True)
class Work:
    """What every step of a training computes with: the model, the problem, the data, the device and the optimizer."""

    model: Callable[[FlatBatch], Tensor]
    problem: Problem
    features: Features
    device: torch.device
    precision: str
    optimizer: Optimizer
    encoders: tuple[Encoder, ...] = ()
    """The encoders that take part in training."""
    label_smoothing: float = 0.0
    label_weights: Tensor | None = None
    kernels: Kernels | None = None
    halves: HalfWeights | None = None

    def add(self, batch: FlatBatch, divisor: float | Tensor) -> Tensor:
        """Compute the loss of a batch, divided by `divisor`; add up its gradients; return the loss.

        The weights get the gradients, or their copies in `halves`: see `HalfWeights.gradients`.
        """
        with ExitStack() as contexts:
            contexts.enter_context(precise(self.device, self.precision))
            if self.halves is not None:
                self.halves.fold()
                contexts.enter_context(self.halves.read())
            elif self.device.type == "cuda" and self.precision == "bf16":
                for encoder in self.encoders:
                    contexts.enter_context(encoder.cast_together())
            outputs = self.model(batch)
        return self.learn(outputs, batch, divisor)

    def learn(self, outputs: Tensor, batch: FlatBatch, divisor: float | Tensor) -> Tensor:
        """Do what `add` does, from the outputs on."""
        loss = self.loss(outputs, batch, divisor)
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def loss(self, outputs: Tensor, batch: FlatBatch, divisor: float | Tensor) -> Tensor:
        """Compute the loss of a batch from its outputs, divided by `divisor`."""
        batch = replace(batch, label_smoothing=self.label_smoothing, label_weights=self.label_weights)
        return self.problem.loss(outputs, batch) / divisor

    def batch(self, units: np.ndarray, dropout: Dropout) -> FlatBatch:
        """Make the batch of some units."""
        multiple = rounding(self.precision, self.features.tokens_in(units))
        return collate(self.features, units, self.device, dropout=dropout, multiple=multiple, kernels=self.kernels)


class Steps(Protocol):
    """Computes the gradients of batches."""

    def clear(self) -> None:
        """Begin a step: forget the gradients of the step before."""

    def add(self, units: np.ndarray, dropout: Dropout, divisor: float) -> Tensor:
        """Add the gradients of a batch's loss, divided by `divisor`; return this loss as a tensor on the device."""


@final
@dataclass(frozen=True)
class Eager:
    """Computes each batch operator by operator."""

    work: Work

    def clear(self) -> None:
        self.work.optimizer.clear()

    def add(self, units: np.ndarray, dropout: Dropout, divisor: float) -> Tensor:
        return self.work.add(self.work.batch(units, dropout), divisor)

    def add_together(self, parts: Sequence[np.ndarray], dropouts: Sequence[Dropout], divisor: float) -> Tensor:
        """Add the gradients of a loss of a whole batch, whose outputs are computed in parts, as `Steps.add` does.

        Of each part, only the outputs are kept; the backward pass computes the rest again (Gao et al. 2021).
        """
        outputs = []
        for units, dropout in zip(parts, dropouts, strict=True):
            batch = self.work.batch(units, dropout)
            with precise(self.work.device, self.work.precision):
                outputs.append(checkpoint(self.work.model, batch, use_reentrant=False))
        whole = collate(self.work.features, np.concatenate(parts), self.work.device)
        return self.work.learn(torch.cat(outputs), whole, divisor)
