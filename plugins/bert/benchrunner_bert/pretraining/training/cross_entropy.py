"""Cross-entropy over a whole vocabulary, which is a good part of a small model's step and of a large one's memory."""

from __future__ import annotations

import torch

_ELEMENTS = {"cpu": 2**19}
"""Logits that are looked at together: on a CPU what its cache holds, elsewhere 2**26, a quarter of a gigabyte."""


def summed(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Of (P, V) logits and (P,) targets: the sum of the losses, and how often the largest logit is the target's."""
    found: tuple[torch.Tensor, torch.Tensor] = _Summed.apply(logits, targets)  # type: ignore[no-untyped-call]
    return found


class _Summed(torch.autograd.Function):
    """The gradient is made while a few rows are at hand: nothing else of the logits' size is ever stored.

    torch's own way holds three such tensors in fp32. Measured on one core for (1216, 8000) and (300, 30522), with the
    hits: 1.1 to 1.4 times as fast in fp32, 3 to 5 times in bf16.
    """

    @staticmethod
    def forward(ctx, logits, targets):  # type: ignore[no-untyped-def]
        kind = torch.promote_types(logits.dtype, torch.float32)
        gradient = torch.empty_like(logits) if ctx.needs_input_grad[0] else None
        loss, hits = logits.new_zeros((), dtype=kind), targets.new_zeros(())
        for rows in _rows(logits):
            some, wanted = logits[rows].to(kind), targets[rows, None]
            top, guess = some.max(-1, keepdim=True)
            shares = torch.sub(some, top).exp_()
            totals = shares.sum(-1, keepdim=True)
            loss += (totals.log() + top - some.gather(1, wanted)).sum()
            hits += (guess == wanted).sum()
            if gradient is not None:
                shares.div_(totals).scatter_add_(1, wanted, some.new_full(wanted.shape, -1.0))
                gradient[rows] = shares
        ctx.save_for_backward(gradient)
        ctx.mark_non_differentiable(hits)
        return loss, hits

    @staticmethod
    def backward(ctx, scale, _):  # type: ignore[no-untyped-def]
        (gradient,) = ctx.saved_tensors
        result = torch.empty_like(gradient)
        for rows in _rows(gradient):  # multiplied in the scale's precision: half of it would round all rows alike
            torch.mul(gradient[rows].to(scale.dtype), scale, out=result[rows])
        return result, None


def _rows(logits: torch.Tensor) -> list[slice]:
    """A few rows at a time, all of them in the end."""
    step = max(1, _ELEMENTS.get(logits.device.type, 2**26) // max(1, logits.shape[1]))
    return [slice(at, at + step) for at in range(0, len(logits), step)]
