"""AdamW with gradient clipping, without decay of biases and LayerNorm, and with or without bias correction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

import torch
from torch import nn

from benchrunner.parameters.recipes import Recipe
from benchrunner.training.adamw import AdamW, clipping_divisor


def decay_groups(parameters: Iterable[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    """Give parameter groups for AdamW: all weights decay, except biases and LayerNorm (Devlin et al. 2019).

    Biases and the weights of LayerNorm are exactly the parameters with one dimension.
    """
    parameters = list(parameters)
    groups = [
        {"params": [weight for weight in parameters if weight.ndim > 1], "weight_decay": weight_decay},
        {"params": [weight for weight in parameters if weight.ndim <= 1], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


@final
@dataclass(frozen=True)
class _Group:
    """Weights with the same factor of the learning rate and the same decay."""

    weights: tuple[nn.Parameter, ...]
    rate: float
    decay: float


@final
@dataclass(frozen=True)
class _Moments:
    """AdamW's state of one weight."""

    mean: torch.Tensor
    square: torch.Tensor
    step: torch.Tensor
    """Number of steps in which the weight had a gradient, as the fused kernel wants it: a float32 scalar."""

    @classmethod
    def zeros(cls, weight: nn.Parameter) -> _Moments:
        return cls(torch.zeros_like(weight), torch.zeros_like(weight), torch.zeros((), device=weight.device))


class Optimizer:
    """Turns the gradients of named modules into new weights: clips, then takes an AdamW step.

    `rates` has factors of the learning rate by the name of a weight, such as `encoder.pooler.bias`; without a factor,
    a weight has the whole rate. Weights that need no gradient are not part of the optimizer, nor of its state.
    """

    def __init__(
        self, modules: Mapping[str, nn.Module], recipe: Recipe, rates: Mapping[str, float] | None = None
    ) -> None:
        self._recipe = recipe
        self._adam = AdamW(recipe.beta1, recipe.beta2, recipe.epsilon, recipe.bias_correction)
        self.named = {
            f"{part}.{name}": weight
            for part, module in modules.items()
            for name, weight in module.named_parameters()
            if weight.requires_grad
        }
        self._rates = {id(weight): (rates or {}).get(name, 1.0) for name, weight in self.named.items()}
        self._groups = [
            _Group(tuple(group["params"]), rate, group["weight_decay"])
            for rate in sorted(set(self._rates.values()))
            for group in decay_groups(self._of_rate(rate), recipe.weight_decay)
        ]
        self._moments: dict[nn.Parameter, _Moments] = {}

    def rate_of(self, weight: nn.Parameter) -> float:
        """Give the factor between the learning rates of a weight and those that `step` is given."""
        return self._rates[id(weight)]

    def _of_rate(self, rate: float) -> Iterator[nn.Parameter]:
        return (weight for weight in self.named.values() if self._rates[id(weight)] == rate)

    def clear(self) -> None:
        """Remove all gradients."""
        for weight in self.named.values():
            weight.grad = None

    @torch.no_grad()
    def allocate(self) -> None:
        """Make the moments of all weights that have gradients, which take twice the memory of the weights."""
        for weight in self.named.values():
            if weight.grad is not None and weight not in self._moments:
                self._moments[weight] = _Moments.zeros(weight)

    @torch.no_grad()
    def step(self, step: int, lr: float) -> None:
        """Clip the gradients and change the weights. `step` counts from 0."""
        self.allocate()
        trained = [weight.grad for weight in self.named.values() if weight.grad is not None]
        excess = clipping_divisor(trained, self._recipe.clip) if self._recipe.clip else None
        for group in self._groups:
            gradients = {weight: weight.grad for weight in group.weights if weight.grad is not None}
            if not gradients:  # these weights and their moments stay as they are
                continue
            moments = [self._moments[weight] for weight in gradients]
            steps = [moment.step for moment in moments]
            torch._foreach_add_(steps, 1)
            self._adam.change(
                list(gradients),
                list(gradients.values()),
                [moment.mean for moment in moments],
                [moment.square for moment in moments],
                steps,
                step=step + 1,
                rate=lr * group.rate,
                decay=group.decay,
                excess=excess,
            )

    def state(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Give weights and moments by name. Weights that have had no gradient have no moments."""
        for name, weight in self.named.items():
            yield f"weight/{name}", weight.detach()
            if moments := self._moments.get(weight):
                yield f"exp_avg/{name}", moments.mean
                yield f"exp_avg_sq/{name}", moments.square

    def restore(self, tensors: Mapping[str, torch.Tensor], step: int) -> None:
        """Put back the weights and moments that `state` gave after `step` optimizer steps."""
        for name, weight in self.named.items():
            with torch.no_grad():
                weight.copy_(tensors[f"weight/{name}"])
            if f"exp_avg/{name}" in tensors:  # else the weight had no gradient, for example an unused pooler's
                self._moments[weight] = _Moments(
                    tensors[f"exp_avg/{name}"].to(weight.device),
                    tensors[f"exp_avg_sq/{name}"].to(weight.device),
                    torch.tensor(float(step), device=weight.device),
                )
