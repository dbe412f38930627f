"""AdamW with gradient clipping, without decay of biases and LayerNorm, and with or without bias correction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypedDict, final

import torch
from torch import Tensor, nn

from benchrunner.parameters.recipes import Recipe
from benchrunner.training.half_weights import HalfWeights

Tensors = list[Tensor] | tuple[Tensor, ...]


class AdamNumbers(TypedDict):
    """The numbers of a step of torch's AdamW, by the names that torch gives them."""

    lr: float
    beta1: float
    beta2: float
    eps: float
    weight_decay: float


@final
@dataclass(frozen=True)
class AdamW:
    """AdamW with decoupled weight decay.

    The fused kernel is called directly: a `torch.optim.AdamW` computes the same bits, but the first one in a process
    imports torch's compiler, which costs more time than fifty steps of a small model.
    """

    beta1: float
    beta2: float
    epsilon: float
    bias_correction: bool
    """Whether the moments are corrected for having begun with zero."""

    def numbers(self, step: int, rate: float, decay: float) -> AdamNumbers:
        """Give the numbers with which torch's AdamW takes this step of the training, counted from 1."""
        epsilon = self.epsilon
        if not self.bias_correction:
            # The kernel computes m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + e). With this rate and epsilon, that is
            # lr * m / (sqrt(v) + e). The kernel multiplies the decay by its rate, so the decay is divided by it.
            of_mean = 1 - self.beta1**step
            of_root = (1 - self.beta2**step) ** 0.5
            rate = rate * of_mean / of_root
            epsilon = epsilon / of_root
            decay = decay * of_root / of_mean
        return {"lr": rate, "beta1": self.beta1, "beta2": self.beta2, "eps": epsilon, "weight_decay": decay}

    def change(
        self,
        weights: Tensors,
        gradients: Tensors,
        means: Tensors,
        squares: Tensors,
        steps: Tensors,
        numbers: AdamNumbers,
        *,
        excess: Tensor | None = None,
    ) -> None:
        """Change weights and moments of one device and one type. `numbers` are those of the method above.

        `steps` has the number of the step of each weight as a float32 scalar on its device. `excess` divides the
        gradients: see `clipping_divisor`.
        """
        torch._fused_adamw_(
            weights,
            gradients,
            means,
            squares,
            [],
            steps,
            **numbers,
            amsgrad=False,
            maximize=False,
            grad_scale=excess,
        )


def clipping_divisor(gradients: Sequence[Tensor], limit: float) -> Tensor:
    """Return the number that divides gradients so that their norm is at most `limit`: 1 if the norm is below."""
    norm = nn.utils.get_total_norm(gradients)
    return ((norm + 1e-6) / limit).clamp(min=1.0)


def decay_groups(parameters: Iterable[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    """Give parameter groups for AdamW: all weights decay, except biases and LayerNorm (Devlin et al. 2019).

    Biases and the weights of LayerNorm are exactly the parameters with one dimension.
    """
    parameters = list(parameters)
    matrices = [weight for weight in parameters if weight.ndim > 1]
    vectors = [weight for weight in parameters if weight.ndim <= 1]
    groups: list[dict[str, Any]] = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


@final
@dataclass(frozen=True)
class _Group:
    """Weights with the same factor of the learning rate and the same decay."""

    weights: tuple[nn.Parameter, ...]
    rate: float
    decay: float


class _Moments(NamedTuple):
    """AdamW's state of one weight."""

    mean: Tensor
    square: Tensor
    step: Tensor
    """Number of steps in which the weight had a gradient, as the fused kernel wants it: a float32 scalar."""

    @classmethod
    def zeros(cls, weight: nn.Parameter) -> _Moments:
        step = torch.zeros((), device=weight.device)
        return cls(torch.zeros_like(weight), torch.zeros_like(weight), step)


class Optimizer:
    """Turns the gradients of named modules into new weights: clips, then takes an AdamW step.

    `rates` has factors of the learning rate by the name of a weight, such as `encoder.pooler.bias`; without a factor,
    a weight has the whole rate. Weights that need no gradient are not part of the optimizer, nor of its state. A kernel
    changes the weights that have a copy in `halves`.
    """

    def __init__(
        self,
        modules: Mapping[str, nn.Module],
        recipe: Recipe,
        rates: Mapping[str, float] | None = None,
        halves: HalfWeights | None = None,
    ) -> None:
        self._recipe = recipe
        self._halves = halves
        self._adam = AdamW(recipe.beta1, recipe.beta2, recipe.epsilon, recipe.bias_correction)
        self.named = dict[str, nn.Parameter]()
        for part, module in modules.items():
            for name, weight in module.named_parameters():
                if weight.requires_grad:
                    self.named[f"{part}.{name}"] = weight
        rates = rates or {}
        self._rates = {id(weight): rates.get(name, 1.0) for name, weight in self.named.items()}
        self._groups = list[_Group]()
        for rate in sorted(set(self._rates.values())):
            weights = [weight for weight in self.named.values() if self.rate_of(weight) == rate]
            for group in decay_groups(weights, recipe.decay):
                self._groups.append(_Group(tuple(group["params"]), rate, group["weight_decay"]))
        self._moments: dict[nn.Parameter, _Moments] = {}

    def rate_of(self, weight: nn.Parameter) -> float:
        """Give the factor between the learning rates of a weight and those that `step` is given."""
        return self._rates[id(weight)]

    def clear(self) -> None:
        """Remove all gradients."""
        for weight in self.named.values():
            weight.grad = None
        if self._halves is not None:
            self._halves.clear()

    def _gradients(self) -> dict[nn.Parameter, Tensor]:
        """Return the gradients of the weights that have one."""
        if self._halves is not None:
            return self._halves.gradients(self.named.values())
        return {weight: weight.grad for weight in self.named.values() if weight.grad is not None}

    @torch.no_grad()
    def allocate(self) -> None:
        """Make the moments of all weights that have gradients, which take twice the memory of the weights."""
        for weight in self._gradients():
            if weight not in self._moments:
                self._moments[weight] = _Moments.zeros(weight)

    @torch.no_grad()
    def step(self, step: int, lr: float) -> None:
        """Clip the gradients and change the weights. `step` counts from 0."""
        self.allocate()
        gradients = self._gradients()
        excess = None
        if self._recipe.clip:
            measured = gradients.values() if self._halves is None else map(self._halves.measured, gradients.values())
            excess = clipping_divisor(list(measured), self._recipe.clip)
        for group in self._groups:
            weights = [weight for weight in group.weights if weight in gradients]
            if not weights:  # these weights and their moments stay as they are
                continue
            taken = [self._moments[weight].step for weight in weights]
            torch._foreach_add_(taken, 1)
            if not self._recipe.bias_correction:  # `numbers` takes back the correction of this step
                torch._foreach_copy_(taken, [torch.full_like(taken[0], step + 1)] * len(taken))
            numbers = self._adam.numbers(step + 1, lr * group.rate, group.decay)
            if self._halves is not None:
                weights = self._change_halves(self._halves, weights, gradients, numbers, excess)
            if weights:
                means, squares, steps = zip(*(self._moments[weight] for weight in weights), strict=True)
                of_weights = [gradients[weight] for weight in weights]
                self._adam.change(tuple(weights), of_weights, means, squares, steps, numbers, excess=excess)

    def _change_halves(
        self,
        halves: HalfWeights,
        weights: Sequence[nn.Parameter],
        gradients: Mapping[nn.Parameter, Tensor],
        numbers: AdamNumbers,
        excess: Tensor | None,
    ) -> list[nn.Parameter]:
        """Change the weights that have copies by the kernel; return the others."""
        divisor = 1.0 if excess is None else float(excess)
        others = []
        for weight in weights:
            copy = halves.copy_of(weight)
            if copy is None:
                others.append(weight)
                continue
            mean, square, step = self._moments[weight]
            halves.kernels.adamw(
                weight, gradients[weight], mean, square, copy, step=int(step), divisor=divisor, **numbers
            )
        return others

    def state(self) -> Iterator[tuple[str, Tensor]]:
        """Give weights and moments by name. Weights that have had no gradient have no moments."""
        for name, weight in self.named.items():
            yield f"weight/{name}", weight.detach()
            if moments := self._moments.get(weight):
                yield f"exp_avg/{name}", moments.mean
                yield f"exp_avg_sq/{name}", moments.square
                yield f"step/{name}", moments.step

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back the weights and moments that `state` gave."""
        for name, weight in self.named.items():
            with torch.no_grad():
                weight.copy_(tensors[f"weight/{name}"])
            if f"exp_avg/{name}" in tensors:  # else the weight had no gradient, for example an unused pooler's
                mean = tensors[f"exp_avg/{name}"].to(weight.device)
                square = tensors[f"exp_avg_sq/{name}"].to(weight.device)
                taken = tensors[f"step/{name}"].to(weight.device)
                self._moments[weight] = _Moments(mean, square, taken)
