"""The optimizer against Adam written out in ten lines, with and without bias correction."""

import math
from collections.abc import Iterable
from typing import Any

import pytest
import torch
from torch import nn

from benchrunner.parameters.recipes import Recipe
from benchrunner.training.optimizer import Optimizer, decay_groups


class Pair(nn.Module):
    """A module with a matrix, which decays, and a bias and a LayerNorm, which do not."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.norm = nn.Linear(3, 2), nn.LayerNorm(2)
        for seed, weight in enumerate(self.parameters()):
            nn.init.normal_(weight, generator=torch.Generator().manual_seed(seed))


def gradients(steps: int) -> Iterable[list[Any]]:
    source = torch.Generator().manual_seed(9)
    for step in range(steps):
        scale = 10.0 ** (step % 4 - 2)
        yield [torch.randn(weight.shape, generator=source) * scale for weight in Pair().parameters()]


def optimized(recipe: Recipe, rates: list[float]) -> list[torch.Tensor]:
    module = Pair()
    optimizer = Optimizer({"pair": module}, recipe)
    for step, (lr, step_gradients) in enumerate(zip(rates, gradients(len(rates)), strict=True)):
        optimizer.clear()
        for weight, gradient in zip(module.parameters(), step_gradients, strict=True):
            weight.grad = gradient
        optimizer.step(step, lr)
    return [weight.detach() for weight in module.parameters()]


def optimized_by_hand(recipe: Recipe, rates: list[float]) -> list[torch.Tensor]:
    weights = [weight.detach().double() for weight in Pair().parameters()]
    means, squares = list(map(torch.zeros_like, weights)), list(map(torch.zeros_like, weights))
    for step, (lr, step_gradients) in enumerate(zip(rates, gradients(len(rates)), strict=True), start=1):
        norm = math.sqrt(sum(gradient.double().pow(2).sum().item() for gradient in step_gradients))
        factor = min(1.0, recipe.clip / norm) if recipe.clip else 1.0
        for at, gradient in enumerate(step_gradients):
            g = gradient.double() * factor
            means[at] = recipe.beta1 * means[at] + (1 - recipe.beta1) * g
            squares[at] = recipe.beta2 * squares[at] + (1 - recipe.beta2) * g * g
            m, v = means[at], squares[at]
            if recipe.bias_correction:
                m, v = m / (1 - recipe.beta1**step), v / (1 - recipe.beta2**step)
            decay = recipe.weight_decay if weights[at].ndim > 1 else 0.0
            weights[at] = weights[at] - lr * (m / (v.sqrt() + recipe.epsilon) + decay * weights[at])
    return [weight.float() for weight in weights]


@pytest.mark.parametrize("bias_correction", [True, False])
@pytest.mark.parametrize("clip", [0.0, 1.0])
@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_adam_with_and_without_correction_equals_ten_lines(bias_correction: bool, clip: float, epsilon: float) -> None:
    recipe = Recipe(weight_decay=0.1, clip=clip, bias_correction=bias_correction, epsilon=epsilon)
    rates = [0.0, 0.01, 0.02, 0.03, *(0.03 * left / 20 for left in range(20, 0, -1))]
    for weight, expected in zip(optimized(recipe, rates), optimized_by_hand(recipe, rates), strict=True):
        torch.testing.assert_close(weight, expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("recipe", [Recipe(clip=1.0), Recipe(clip=0.0, weight_decay=0.1, beta1=0.8, epsilon=1e-3)])
def test_the_bits_are_those_of_torch(recipe: Recipe) -> None:
    """Some weights have no gradient in the first steps, as an unused pooler's, and one has none at all."""
    ours, theirs = Pair(), Pair()
    optimizer = Optimizer({"pair": ours}, recipe)
    adam = torch.optim.AdamW(
        decay_groups(theirs.parameters(), recipe.weight_decay),
        betas=(recipe.beta1, recipe.beta2),
        eps=recipe.epsilon,
        fused=True,
    )
    for step, step_gradients in enumerate(gradients(9)):
        step_gradients[3] = None
        step_gradients[0] = step_gradients[0] if step > 3 else None
        for module in (ours, theirs):
            for weight, gradient in zip(module.parameters(), step_gradients, strict=True):
                weight.grad = None if gradient is None else gradient.clone()
        optimizer.step(step, 0.01 * step)
        given = [gradient for gradient in step_gradients if gradient is not None]
        norm = torch.nn.utils.get_total_norm(given)
        adam.grad_scale = ((norm + 1e-6) / recipe.clip).clamp(min=1.0) if recipe.clip else None
        for group in adam.param_groups:
            group["lr"] = 0.01 * step
        adam.step()
    for weight, expected in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(weight, expected)


@pytest.mark.parametrize("bias_correction", [True, False])
def test_weights_that_miss_steps_go_on_from_a_state_alike(bias_correction: bool) -> None:
    """Without correction, a weight that missed steps has the rate of the others."""
    recipe = Recipe(clip=0.0, weight_decay=0.0, bias_correction=bias_correction)
    whole, resumed = (Optimizer({"pair": Pair()}, recipe) for _ in range(2))
    expected, mean, square, taken = Pair().dense.weight.detach().double(), 0.0, 0.0, 0
    for step, [gradient, *_] in enumerate(gradients(8)):
        if step == 5:
            resumed.restore({name: tensor.clone() for name, tensor in whole.state()})
        for optimizer in (whole, resumed) if step >= 5 else (whole,):
            optimizer.clear()
            if step % 3 != 1:
                optimizer.named["pair.dense.weight"].grad = gradient.clone()
            optimizer.step(step, 0.01)
        if step % 3 != 1:
            taken += 1
            mean = 0.9 * mean + 0.1 * gradient.double()
            square = 0.999 * square + 0.001 * gradient.double() ** 2
            of_mean, of_square = (1 - 0.9**taken, 1 - 0.999**taken) if bias_correction else (1, 1)
            expected = expected - 0.01 * (mean / of_mean) / ((square / of_square) ** 0.5 + recipe.epsilon)
    weight = whole.named["pair.dense.weight"]
    torch.testing.assert_close(weight.detach(), expected.float(), rtol=1e-5, atol=1e-6)
    assert torch.equal(resumed.named["pair.dense.weight"], weight)


def test_decay_groups_hold_every_weight_and_are_not_empty() -> None:
    module = Pair()
    decaying, constant = decay_groups(module.parameters(), 0.5)
    assert [id(weight) for weight in decaying["params"]] == [id(module.dense.weight)]
    assert [id(weight) for weight in constant["params"]] == [
        id(weight) for weight in (module.dense.bias, module.norm.weight, module.norm.bias)
    ]
    assert (decaying["weight_decay"], constant["weight_decay"]) == (0.5, 0.0)
    assert len(decay_groups([module.dense.weight], 0.5)) == 1


def test_a_state_is_put_back_into_the_same_memory() -> None:
    """CUDA graphs read the weights where they were when the graph was recorded."""
    first, second = (Optimizer({"pair": Pair()}, Recipe()) for _ in range(2))
    for weight in first.named.values():
        weight.grad = torch.ones_like(weight)
    first.step(0, 0.1)
    places = {name: weight.data_ptr() for name, weight in second.named.items()}
    second.restore(dict(first.state()))
    for name, weight in second.named.items():
        assert torch.equal(weight, first.named[name]) and weight.data_ptr() == places[name]


def test_decay_by_the_share_does_not_depend_on_the_rate() -> None:
    recipe = Recipe(lr=2e-4, weight_decay=0.1, decay_by="share")
    module = Pair()
    before = module.dense.weight.detach().clone()
    optimizer = Optimizer({"pair": module}, recipe)
    for step, share in enumerate((1.0, 0.5)):
        for weight in module.parameters():
            weight.grad = torch.zeros_like(weight)  # so that only the decay changes a weight
        optimizer.step(step, recipe.lr * share)
    torch.testing.assert_close(module.dense.weight.detach(), before * (1 - 0.1) * (1 - 0.5 * 0.1))
