"""Attention by torch's fused kernels for CUDA: one launch for all sequences of a flat batch, with dropout inside.

Both kernels take the borders of the sequences and never store a probability. The filling at the end of a batch is a
sequence of its own, so that every row of the output and of the gradient is written, with finite numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, final

import torch
from torch import Tensor

from benchrunner.engine import FlatBatch

Direction = Literal["both", "left-to-right"]
"""Order in which a model reads its text. In both directions, a token attends to all tokens of its sequence; from left
to right, to itself and the tokens before it."""

_CAUSAL = 1
"""The efficient kernel's `custom_mask_type` for attention to a token itself and the tokens before it; 0 is no mask."""


@final
@dataclass(frozen=True)
class AttentionLayer:
    """How the tokens of a layer attend to one another."""

    rate: float
    """Dropout of the attention probabilities."""
    site: str
    """Name of the layer, for drawing the dropout mask."""
    direction: Direction = "both"
    window: int | None = None
    """Most tokens on each side that a token attends to; None for all."""

    @property
    def sides(self) -> tuple[int, int]:
        """How many tokens before and after itself a token attends to, as flash attention wants it; -1: all."""
        side = -1 if self.window is None else self.window
        return side, 0 if self.direction == "left-to-right" else side


def flash(qkv: Tensor, batch: FlatBatch, layer: AttentionLayer) -> Tensor:
    """Compute flash attention; for half precision on GPUs of compute capability 8.0 and above."""
    output: Tensor = _Flash.apply(qkv, batch, layer)  # type: ignore[no-untyped-call]
    return output


def efficient(qkv: Tensor, batch: FlatBatch, layer: AttentionLayer) -> Tensor:
    """Compute memory-efficient attention; for fp32, and for older GPUs. The window must be None."""
    assert layer.window is None
    output: Tensor = _Efficient.apply(qkv, batch, layer)  # type: ignore[no-untyped-call]
    return output


class _Flash(torch.autograd.Function):
    """Flash attention over the borders of the sequences; the backward pass adds in a fixed order."""

    @staticmethod
    def forward(ctx, qkv, batch, layer):  # type: ignore[no-untyped-def]
        starts = batch.borders
        longest = batch.longest_border
        rate = layer.rate if batch.dropping else 0.0
        before, after = layer.sides
        causal = layer.sides == (-1, 0)
        ctx.places = (starts, starts, longest, longest, rate, causal)
        ctx.windows = {"window_size_left": before, "window_size_right": after}
        with batch.dropout.drawing(layer.site, qkv.device):
            output, logsumexp, state, unused, _ = torch.ops.aten._flash_attention_forward(
                *qkv.unbind(1), *ctx.places, False, **ctx.windows
            )
        ctx.save_for_backward(qkv, output, logsumexp, state, unused)
        return output

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        qkv, output, logsumexp, state, unused = ctx.saved_tensors
        with _deterministic():
            gradients = torch.ops.aten._flash_attention_backward(
                gradient, *qkv.unbind(1), output, logsumexp, *ctx.places, state, unused, **ctx.windows
            )
        return torch.stack(gradients, 1), None, None


class _Efficient(torch.autograd.Function):
    """Memory-efficient attention over the borders of the sequences; the keys are not split, so sums are in order."""

    @staticmethod
    def forward(ctx, qkv, batch, layer):  # type: ignore[no-untyped-def]
        starts = batch.borders
        ctx.longest = batch.longest_border
        ctx.rate = layer.rate if batch.dropping else 0.0
        ctx.mask = 0 if layer.direction == "both" else _CAUSAL
        states = qkv[None].unbind(2)
        with batch.dropout.drawing(layer.site, qkv.device):
            output, logsumexp, seed, offset, _, _ = torch.ops.aten._efficient_attention_forward(
                *states, None, starts, starts, ctx.longest, ctx.longest, ctx.rate, ctx.mask, True
            )
        ctx.save_for_backward(qkv, starts, output, logsumexp, seed, offset)
        return output[0]

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        qkv, starts, output, logsumexp, seed, offset = ctx.saved_tensors
        *gradients, _ = torch.ops.aten._efficient_attention_backward(
            gradient[None],
            *qkv[None].unbind(2),
            None,
            output,
            starts,
            starts,
            ctx.longest,
            ctx.longest,
            logsumexp,
            ctx.rate,
            seed,
            offset,
            ctx.mask,
            False,
            num_splits_key=1,
        )
        return torch.stack([part[0] for part in gradients], 1), None, None


@contextmanager
def _deterministic() -> Iterator[None]:
    """Let kernels choose their deterministic form, in which sums are added up in a fixed order.

    Flash attention reads the choice from a setting of the whole process, which is restored afterwards. With it, torch
    also fills new tensors; this is switched off, since the kernels write all elements. The setting is changed
    directly, since `torch.use_deterministic_algorithms` imports torch's compiler.
    """
    strict = torch._C._get_deterministic_algorithms()
    warned = torch._C._get_deterministic_algorithms_warn_only()
    filled = torch._C._get_deterministic_fill_uninitialized_memory()
    torch._C._set_deterministic_algorithms(True, warn_only=False)
    torch._C._set_deterministic_fill_uninitialized_memory(False)
    try:
        yield
    finally:
        torch._C._set_deterministic_algorithms(strict, warn_only=warned)
        torch._C._set_deterministic_fill_uninitialized_memory(filled)
