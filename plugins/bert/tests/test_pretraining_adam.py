"""Adam of pre-training: the formula of the paper's released code, and torch's own AdamW with bias correction."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchrunner_bert.pretraining.deepspeed.adam import MOMENTS, PaperAdam

RATES = [0.0, 1e-3, 2e-3, 1e-3, 5e-4]
NAMES = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-6}


def weights() -> list[torch.nn.Parameter]:
    source = torch.Generator().manual_seed(3)
    return [torch.nn.Parameter(torch.randn(shape, generator=source)) for shape in ((5, 3), (7,), (0, 4))]


def gradients(step: int) -> list[torch.Tensor]:
    source = torch.Generator().manual_seed(step)
    return [torch.randn(weight.shape, generator=source) for weight in weights()]


def stepped(*, bias_correction: bool) -> tuple[list[torch.nn.Parameter], PaperAdam]:
    learnt = weights()
    adam = PaperAdam([{"params": learnt, "weight_decay": 0.01}], bias_correction=bias_correction, **NAMES)
    for step, rate in enumerate(RATES):
        for weight, gradient in zip(learnt, gradients(step), strict=True):
            weight.grad = gradient
        adam.param_groups[0].update(lr=rate, step=step + 1)
        adam.step()
    return learnt, adam


def test_steps_are_those_of_the_released_code() -> None:
    """In double precision: m / (sqrt(v) + e) without bias correction, plus the decay of the weight itself."""
    learnt, adam = stepped(bias_correction=False)
    for number, start in enumerate(weights()):
        value, mean, square = start.detach().double().numpy(), np.float64(0), np.float64(0)
        for step, rate in enumerate(RATES):
            gradient = gradients(step)[number].double().numpy()
            mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
            value = value - rate * (mean / (np.sqrt(square) + 1e-6) + 0.01 * value)
        np.testing.assert_allclose(learnt[number].detach().numpy(), value, rtol=2e-6, atol=1e-6)
        if value.size:
            moments = [adam.state[learnt[number]][name].numpy() for name in MOMENTS]
            np.testing.assert_allclose(moments[0], mean, rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(moments[1], square, rtol=1e-5, atol=1e-9)


def test_with_bias_correction_steps_are_those_of_torch() -> None:
    learnt, expected = stepped(bias_correction=True)[0], weights()
    reference = torch.optim.AdamW(expected, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, foreach=False)
    for step, rate in enumerate(RATES):
        for weight, gradient in zip(expected, gradients(step), strict=True):
            weight.grad = gradient
        reference.param_groups[0]["lr"] = rate
        reference.step()
    torch.testing.assert_close(learnt, expected, rtol=1e-6, atol=1e-6)


def test_the_whole_state_are_the_moments() -> None:
    _, adam = stepped(bias_correction=False)
    assert all(set(state) == set(MOMENTS) for state in adam.state.values())


@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_gradients_are_clipped_inside_the_kernel(limit: float) -> None:
    learnt, expected = weights(), weights()
    pairs = [(learnt, True), (expected, False)]
    for group, inside in pairs:
        adam = PaperAdam([{"params": group, "weight_decay": 0.01, "lr": 1e-2}], bias_correction=False, **NAMES)
        for weight, gradient in zip(group, gradients(0), strict=True):
            weight.grad = gradient
        if inside:
            norm = torch.nn.utils.get_total_norm([weight.grad for weight in group if weight.grad is not None])
            adam.excess = ((norm + 1e-6) / limit).clamp(min=1.0)
        else:
            torch.nn.utils.clip_grad_norm_(group, limit)
        adam.step()
    torch.testing.assert_close(learnt, expected, rtol=1e-6, atol=1e-7)
