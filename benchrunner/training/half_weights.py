"""Copies of weights in bf16 that stay from step to step: layers read them, and one kernel writes weights and copies.

In place of this, autocast casts each weight in each step, and each gradient to fp32. On a CPU, each of these is a pass
over memory that takes as long as a third of AdamW's step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import final

import torch
from torch import Tensor, nn

from benchrunner.backbones.encoder import Encoder, replaced
from benchrunner.features.kernels import Kernels


@final
class HalfWeights:
    """The copies of those trained weights of encoders that autocast would cast."""

    def __init__(self, encoders: Iterable[Encoder], kernels: Kernels) -> None:
        self.kernels = kernels
        self._places = [
            (module, name)
            for encoder in encoders
            for module, name in encoder.autocast_places()
            if module.get_parameter(name).is_contiguous()
        ]
        self._copies = dict[nn.Parameter, Tensor]()
        self.refresh()

    def refresh(self) -> None:
        """Make the copies again, after the weights were changed by something else than the kernel."""
        weights = [module.get_parameter(name) for module, name in self._places]
        self._copies = {weight: weight.detach().to(torch.bfloat16).requires_grad_() for weight in weights}

    def copy_of(self, weight: nn.Parameter) -> Tensor | None:
        """Return the copy of a weight; None if layers read the weight itself."""
        return self._copies.get(weight)

    @contextmanager
    def read(self) -> Iterator[None]:
        """Let layers read the copies inside a `with` block, in whose backward pass the copies get the gradients."""
        copies = [self._copies[module.get_parameter(name)] for module, name in self._places]
        with replaced(self._places, copies):
            yield

    def fold(self) -> None:
        """Add the gradients of the copies to those of the weights, in fp32: a further batch would round their sum."""
        for weight, copy in self._copies.items():
            if copy.grad is not None:
                gradient = copy.grad.float()
                weight.grad = gradient if weight.grad is None else weight.grad + gradient
                copy.grad = None

    def gradients(self, weights: Iterable[nn.Parameter]) -> dict[nn.Parameter, Tensor]:
        """Return the gradients of weights, in bf16 where one batch alone gave the gradient of a copy."""
        if any(weight.grad is not None for weight in self._copies):
            self.fold()
        found = {}
        for weight in weights:
            copy = self._copies.get(weight)
            gradient = weight.grad if copy is None or copy.grad is None else copy.grad
            if gradient is not None:
                found[weight] = gradient
        return found

    def measured(self, gradient: Tensor) -> Tensor:
        """Return a tensor with the norm of a gradient: torch would round the norm of one in bf16."""
        return self.kernels.norm(gradient) if gradient.dtype == torch.bfloat16 else gradient

    def clear(self) -> None:
        """Remove the gradients of the copies."""
        for copy in self._copies.values():
            copy.grad = None
