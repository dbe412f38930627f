"""The cross-entropy over a vocabulary, which is computed in pieces."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from benchrunner_bert.pretraining.training import cross_entropy


@pytest.mark.parametrize("elements", [1, 50, 2**19])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_the_loss_in_pieces_is_torchs_own(kind: torch.dtype, elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cross_entropy._ELEMENTS, "cpu", elements)
    source = torch.Generator().manual_seed(0)
    logits = (20 * torch.randn(13, 17, generator=source)).to(kind).requires_grad_()
    targets = torch.randint(0, 17, (13,), generator=source)
    targets[::3] = logits.argmax(-1)[::3]
    exact = logits.detach().double().requires_grad_()
    wanted = functional.cross_entropy(exact, targets, reduction="sum")
    loss, hits = cross_entropy.summed(logits, targets)
    near = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 1e-5}[kind]
    torch.testing.assert_close(loss.double(), wanted, rtol=near, atol=0)
    assert hits == (logits.argmax(-1) == targets).sum() > 4 and not hits.requires_grad
    (loss / 7).backward()
    (wanted / 7).backward()
    assert logits.grad.dtype == kind
    rounding = 2**-7 if kind == torch.bfloat16 else near
    torch.testing.assert_close(logits.grad.double(), exact.grad, rtol=rounding, atol=near)


def test_equal_logits_are_one_guess_and_not_many() -> None:
    assert cross_entropy.summed(torch.zeros(4, 3), torch.tensor([0, 1, 2, 1]))[1] == 1


def test_a_scale_that_half_precision_cannot_hold_is_not_rounded() -> None:
    """bf16 takes 1.003 for 1, and every gradient would be short of 0.3%; 1.003 thirds are nearer to the next number."""
    logits = torch.zeros(1, 3, dtype=torch.bfloat16, requires_grad=True)
    (cross_entropy.summed(logits, torch.tensor([0]))[0] * 1.003).backward()
    assert logits.grad[0, 1] == 0.3359375 > torch.tensor(1 / 3).bfloat16()


def test_no_predictions_have_no_loss() -> None:
    logits = torch.zeros(0, 5, requires_grad=True)
    loss, hits = cross_entropy.summed(logits, torch.zeros(0, dtype=torch.int64))
    loss.backward()
    assert loss == 0 and hits == 0 and logits.grad.shape == (0, 5)
