"""Steps of pre-training: Adam of the paper's released code, its learning rates, and the cross-entropy in pieces."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from benchrunner.training.optimizer import AdamW
from benchrunner_bert.pretraining.deepspeed.adam import MOMENTS, PaperAdam
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training import cross_entropy

RATES = [0.0, 1e-3, 2e-3, 1e-3, 5e-4]


def weights() -> list[torch.nn.Parameter]:
    source = torch.Generator().manual_seed(3)
    return [torch.nn.Parameter(torch.randn(shape, generator=source)) for shape in ((5, 3), (7,), (0, 4))]


def gradients(step: int) -> list[torch.Tensor]:
    source = torch.Generator().manual_seed(step)
    return [torch.randn(weight.shape, generator=source) for weight in weights()]


def stepped(*, bias_correction: bool) -> tuple[list[torch.nn.Parameter], PaperAdam]:
    learnt = weights()
    adam = PaperAdam([{"params": learnt, "weight_decay": 0.01}], AdamW(0.9, 0.999, 1e-6, bias_correction))
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


@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_gradients_are_clipped_inside_the_kernel(limit: float) -> None:
    learnt, expected = weights(), weights()
    for group in (learnt, expected):
        adam = PaperAdam([{"params": group, "weight_decay": 0.01, "lr": 1e-2}], AdamW(0.9, 0.999, 1e-6, False))
        for weight, gradient in zip(group, gradients(0), strict=True):
            weight.grad = gradient
        norm = torch.nn.utils.clip_grad_norm_(group, limit if group is expected else torch.inf)
        if group is learnt:
            adam.excess = ((norm + 1e-6) / limit).clamp(min=1.0)
        adam.step()
    torch.testing.assert_close(learnt, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(steps=4, warmup=10_000), [0, 0.25e-4, 0.5e-4, 0.75e-4]),
        (Settings(steps=4, warmup=0), [1e-4, 0.75e-4, 0.5e-4, 0.25e-4]),
        (
            Settings(steps=8, warmup=2, schedule="trapezoid", cooldown=4, final_share=0.5),
            [0, 0.5e-4, 1e-4, 1e-4, 1e-4, 0.875e-4, 0.75e-4, 0.625e-4],
        ),
    ],
    ids=["warm-up of all steps", "no warm-up", "trapezoid"],
)
def test_rates_rise_in_the_warm_up_and_fall_to_the_end(settings: Settings, expected: list[float]) -> None:
    assert [settings.lr_at(step) for step in range(settings.steps)] == pytest.approx(expected)


@pytest.mark.parametrize("elements", [1, 50, 2**19])
@pytest.mark.parametrize(("kind", "near"), [(torch.float32, 1e-5), (torch.float64, 1e-12), (torch.bfloat16, 2**-7)])
def test_the_loss_in_pieces_is_torchs_own(
    kind: torch.dtype, near: float, elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(cross_entropy._ELEMENTS, "cpu", elements)
    source = torch.Generator().manual_seed(0)
    logits = (20 * torch.randn(13, 17, generator=source)).to(kind).requires_grad_()
    targets = torch.randint(0, 17, (13,), generator=source)
    targets[::3] = logits.argmax(-1)[::3]
    exact = logits.detach().double().requires_grad_()
    wanted = functional.cross_entropy(exact, targets, reduction="sum")
    loss, hits = cross_entropy.summed(logits, targets)
    torch.testing.assert_close(loss.double(), wanted, rtol=min(near, 1e-5), atol=0)
    assert hits == (logits.argmax(-1) == targets).sum() > 4
    (loss / 7).backward()
    (wanted / 7).backward()
    assert logits.grad.dtype == kind
    torch.testing.assert_close(logits.grad.double(), exact.grad, rtol=near, atol=min(near, 1e-5))


def test_a_scale_that_half_precision_cannot_hold_is_not_rounded() -> None:
    """bf16 takes 1.003 for 1, and every gradient would be short of 0.3%; 1.003 thirds are nearer to the next number."""
    logits = torch.zeros(1, 3, dtype=torch.bfloat16, requires_grad=True)
    (cross_entropy.summed(logits, torch.tensor([0]))[0] * 1.003).backward()
    assert logits.grad[0, 1] == 0.3359375 > torch.tensor(1 / 3).bfloat16()
