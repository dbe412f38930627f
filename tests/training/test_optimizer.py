"""The optimizer is Adam as it is written in the books, with and without its correction."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
import torch
from torch import nn

from benchrunner.recipes import Recipe
from benchrunner.training.optimizer import Optimizer


class Pair(nn.Module):
    """A matrix, which decays, and a bias and a norm, which do not."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.norm = nn.Linear(3, 2), nn.LayerNorm(2)
        for at, one in enumerate(self.parameters()):
            nn.init.normal_(one, generator=torch.Generator().manual_seed(at))


def gradients(steps: int) -> Iterable[list[torch.Tensor]]:
    source = torch.Generator().manual_seed(9)
    for step in range(steps):
        yield [torch.randn(one.shape, generator=source) * 10.0 ** (step % 4 - 2) for one in Pair().parameters()]


def optimized(recipe: Recipe, rates: list[float]) -> list[torch.Tensor]:
    module = Pair()
    optimizer = Optimizer({"pair": module}, recipe)
    for step, (lr, found) in enumerate(zip(rates, gradients(len(rates)), strict=True)):
        optimizer.clear()
        for one, gradient in zip(module.parameters(), found, strict=True):
            one.grad = gradient
        optimizer.step(step, lr)
    return [one.detach() for one in module.parameters()]


def by_the_book(recipe: Recipe, rates: list[float]) -> list[torch.Tensor]:
    weights = [one.detach().double() for one in Pair().parameters()]
    means, squares = ([torch.zeros_like(one) for one in weights] for _ in range(2))
    for step, (lr, found) in enumerate(zip(rates, gradients(len(rates)), strict=True), start=1):
        norm = math.sqrt(sum(one.double().pow(2).sum().item() for one in found))
        factor = min(1.0, recipe.clip / norm) if recipe.clip else 1.0
        for at, gradient in enumerate(found):
            g = gradient.double() * factor
            means[at] = recipe.beta1 * means[at] + (1 - recipe.beta1) * g
            squares[at] = recipe.beta2 * squares[at] + (1 - recipe.beta2) * g * g
            m, v = means[at], squares[at]
            if recipe.bias_correction:
                m, v = m / (1 - recipe.beta1**step), v / (1 - recipe.beta2**step)
            decay = recipe.weight_decay if weights[at].ndim > 1 else 0.0
            weights[at] = weights[at] - lr * (m / (v.sqrt() + recipe.epsilon) + decay * weights[at])
    return [one.float() for one in weights]


@pytest.mark.parametrize("bias_correction", [True, False])
@pytest.mark.parametrize("clip", [0.0, 1.0])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_adam_with_and_without_correction_is_the_ten_line_one(
    bias_correction: bool, clip: float, epsilon: float
) -> None:
    recipe = Recipe(weight_decay=0.1, clip=clip, bias_correction=bias_correction, epsilon=epsilon)
    rates = [0.0, 0.01, 0.02, 0.03, *(0.03 * left / 20 for left in range(20, 0, -1))]
    for mine, theirs in zip(optimized(recipe, rates), by_the_book(recipe, rates), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=2e-6, atol=2e-6)


def test_uncorrected_adam_is_another_adam() -> None:
    rates = [0.01] * 5
    corrected, raw = (optimized(Recipe(bias_correction=one), rates) for one in (True, False))
    assert (corrected[0] - raw[0]).abs().max() > 1e-2


def test_biases_and_norms_do_not_decay() -> None:
    module = Pair()
    before = {name: one.detach().clone() for name, one in module.named_parameters()}
    optimizer = Optimizer({"pair": module}, Recipe(weight_decay=0.5))
    for one in module.parameters():
        one.grad = torch.zeros_like(one)
    optimizer.step(0, 0.1)
    for name, one in module.named_parameters():
        torch.testing.assert_close(one.detach(), before[name] * (0.95 if name == "dense.weight" else 1.0))
