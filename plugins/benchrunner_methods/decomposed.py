"""Updates of weights by magnitude and direction (DoRA, Liu et al. 2024): W' = m (W + s B A) / |W + s B A|."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn.utils import parametrize

from benchrunner.engine import randomness
from benchrunner_methods.low_rank import LowRank, frozen_linear_layers

if TYPE_CHECKING:
    from benchrunner.engine import Encoder


class Decomposed(nn.Module):
    """The magnitude and the low-rank update of the weight of a linear layer. Before training they change nothing."""

    def __init__(self, layer: nn.Module, *, rank: int, alpha: float, source: torch.Generator) -> None:
        super().__init__()
        self._inputs = 1 if isinstance(layer, nn.Linear) else 0  # axis of the weight
        self.update = LowRank(layer, rank=rank, alpha=alpha, source=source)
        weight = layer.get_parameter("weight").detach()
        self.magnitude = nn.Parameter(self._lengths(weight).flatten())

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Compute the updated weight."""
        changed = weight + self.update.product()
        # The lengths are constants for the gradient: section 4.3 of the paper.
        lengths = self._lengths(changed.detach())
        updated: torch.Tensor = changed * (self.magnitude.view_as(lengths) / lengths)
        return updated

    def _lengths(self, weight: torch.Tensor) -> torch.Tensor:
        """Compute the length of the weights of each output; a tiny number in place of 0, by which nothing divides."""
        lengths = torch.linalg.vector_norm(weight, dim=self._inputs, keepdim=True)
        positive: torch.Tensor = lengths.clamp_min(torch.finfo(weight.dtype).tiny)
        return positive


class Updated(nn.Module):
    """Parametrization by an update whose parameters belong to another module than the encoder."""

    def __init__(self, update: nn.Module) -> None:
        super().__init__()
        self._update = (update,)  # in a tuple, so that its parameters are no parameters of the encoder

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        updated: torch.Tensor = self._update[0](weight)
        return updated


class DecomposedUpdates(nn.Module):
    """Magnitudes and updates of all linear layers of a frozen encoder; layers that share a weight share them.

    `merge` leaves the updated weights in the layers, after which the encoder is an ordinary one.
    """

    def __init__(self, encoder: Encoder, *, rank: int, alpha: float, seed: int) -> None:
        super().__init__()
        self._layers = list[nn.Module]()
        part_of = dict[nn.Parameter, Decomposed]()
        for name, layer in frozen_linear_layers(encoder, "dora"):
            weight = layer.get_parameter("weight")
            if weight not in part_of:
                source = randomness.generator(seed, "low-rank update", name)
                part_of[weight] = Decomposed(layer, rank=rank, alpha=alpha, source=source)
            parametrize.register_parametrization(layer, "weight", Updated(part_of[weight]))
            self._layers.append(layer)
        self.parts = nn.ModuleList(part_of.values())

    def merge(self) -> None:
        """Put the updated weights in place of the encoder's own."""
        for layer in self._layers:
            parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
        self._layers.clear()
