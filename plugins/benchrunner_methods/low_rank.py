"""Low-rank updates of an encoder's linear layers (LoRA, Hu et al. 2021): y = W x + (alpha / rank) B A x."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.hooks import RemovableHandle

from benchrunner import RequestError
from benchrunner.engine import StackedLinear, randomness

if TYPE_CHECKING:
    from benchrunner.engine import Encoder


class LowRank(nn.Module):
    """The update of the weight W of a linear layer. It is zero before training, because B is zero.

    If W has several matrices, one below the other, A and B have a part for each of them.
    """

    def __init__(self, layer: nn.Module, *, rank: int, alpha: float, source: torch.Generator) -> None:
        super().__init__()
        self._is_transposed = not isinstance(layer, nn.Linear)
        self._count = layer.count if isinstance(layer, StackedLinear) else 1
        self._scale = alpha / rank
        shape = layer.get_parameter("weight").shape
        outputs, inputs = reversed(shape) if self._is_transposed else shape
        self.a = nn.Parameter(torch.empty(self._count * rank, inputs))
        self.b = nn.Parameter(torch.zeros(outputs, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5), generator=source)  # as in the released code, loralib

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Compute what the update adds to the layer's output: (..., inputs) -> (..., outputs)."""
        reduced = functional.linear(states, self.a).chunk(self._count, dim=-1)  # (..., rank) each
        parts = [functional.linear(x, b) for x, b in zip(reduced, self.b.chunk(self._count), strict=True)]
        return torch.cat(parts, dim=-1) * self._scale

    def product(self) -> torch.Tensor:
        """Compute what the update adds to the layer's weight, in the shape of the weight."""
        products = [b @ a for b, a in zip(self.b.chunk(self._count), self.a.chunk(self._count), strict=True)]
        update = torch.cat(products) * self._scale  # (outputs, inputs)
        return update.T if self._is_transposed else update

    @torch.no_grad()
    def add_to(self, weight: torch.Tensor) -> None:
        """Add the update to the layer's weight."""
        weight.add_(self.product())


class LowRankUpdates(nn.Module):
    """Updates of all linear layers of an encoder whose weights are frozen.

    Layers that share a weight share its update. `merge` adds the updates to the weights, after which the encoder is an
    ordinary one.
    """

    def __init__(self, encoder: Encoder, *, rank: int, alpha: float, seed: int) -> None:
        super().__init__()
        self._hooks: list[RemovableHandle] = []
        self._update_of: dict[nn.Parameter, LowRank] = {}
        for name, layer in frozen_linear_layers(encoder, "lora"):
            weight = layer.get_parameter("weight")
            if weight not in self._update_of:
                source = randomness.generator(seed, "low-rank update", name)
                self._update_of[weight] = LowRank(layer, rank=rank, alpha=alpha, source=source)
            self._hooks.append(layer.register_forward_hook(_adding(self._update_of[weight])))
        self.updates = nn.ModuleList(self._update_of.values())

    def merge(self) -> None:
        """Add the updates to the encoder's weights, and take the updates away from its layers."""
        for hook in self._hooks:
            hook.remove()
        for weight, update in self._update_of.items():
            update.add_to(weight)
        self._hooks.clear()
        self._update_of.clear()


def frozen_linear_layers(encoder: Encoder, method: str) -> list[tuple[str, nn.Module]]:
    """List the linear layers of an encoder that are frozen and share their weight with no embedding, with names.

    Raises a `RequestError` that names the method if there are none.
    """
    tables = {module.weight for module in encoder.modules() if isinstance(module, nn.Embedding)}
    layers = []
    for name, layer in encoder.named_modules():
        if _is_linear(layer):
            weight = layer.get_parameter("weight")
            if not weight.requires_grad and weight not in tables:
                layers.append((name, layer))
    if not layers:
        raise RequestError(
            f"{type(encoder).__name__} has no linear layers, so that the method '{method}' has nothing to update. "
            "Use --method finetune."
        )
    return layers


def _is_linear(layer: nn.Module) -> bool:
    """Whether a layer is linear.

    The layer `Conv1D` of transformers' GPT models, whose weight is (inputs, outputs), is known by its name, because
    this package does not depend on transformers.
    """
    if type(layer).__name__ == "Conv1D":
        return "weight" in dict(layer.named_parameters()) and layer.get_parameter("weight").ndim == 2
    return isinstance(layer, nn.Linear)


def _adding(update: LowRank) -> Callable[[nn.Module, tuple[Any, ...], torch.Tensor], torch.Tensor]:
    """Return a forward hook that adds an update to a layer's output."""

    def add(layer: nn.Module, inputs: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor:
        added: torch.Tensor = update(inputs[0])
        return output + added

    return add
