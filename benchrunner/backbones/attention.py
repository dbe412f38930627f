"""Attention over the sequences of a flat batch. A fixed table chooses the implementation; nothing is timed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch.nn import functional

from benchrunner.features.flat_batch import Block, FlatBatch

Direction = Literal["both", "left-to-right", "right-to-left"]
"""Order in which a model reads its text. In both directions, a token attends to all tokens of its sequence; from left
to right, to itself and the tokens before it; from right to left, to itself and the tokens after it."""

Kernel = Callable[[torch.Tensor, FlatBatch, float, str, Direction, int | None], torch.Tensor]
"""Computes (T, heads, size) from qkv (T, 3, heads, size), batch, dropout rate, name of the dropout site, direction and
window: see `attend`."""


def attend(
    qkv: torch.Tensor,
    batch: FlatBatch,
    *,
    rate: float,
    site: str,
    direction: Direction = "both",
    window: int | None = None,
) -> torch.Tensor:
    """Let every token attend to the tokens of its own sequence: (T, 3, heads, size) -> (T, heads * size).

    `rate` is the dropout of the attention probabilities, `site` the name of the layer for drawing the mask. With the
    direction `left-to-right`, a token attends only to itself and to the tokens before it; with `right-to-left`, only to
    itself and to the tokens after it. With a window, a token attends to at most `window` tokens on each side of itself.
    """
    dropping = rate > 0 and batch.dropping
    kernel = implementation(qkv.device, qkv.dtype, qkv.shape[-1], dropping=dropping, direction=direction, window=window)
    return kernel(qkv, batch, rate, site, direction, window).flatten(1)


def implementation(
    device: torch.device,
    dtype: torch.dtype,
    size: int,
    *,
    dropping: bool,
    direction: Direction = "both",
    window: int | None = None,
) -> Kernel:
    """Choose the kernel: `explicit` for dropout, `varlen` for half precision on a GPU, `grouped` otherwise.

    From right to left, and with a window in versions of torch whose `varlen_attn` has no windows, `grouped` takes the
    place of `varlen`.
    """
    if dropping:
        return explicit
    if direction == "right-to-left" or (window is not None and not _has_windows()):
        return grouped
    if device.type == "cuda" and dtype in (torch.float16, torch.bfloat16) and size % 8 == 0 and size <= 256:
        return varlen
    return grouped


def grouped(
    qkv: torch.Tensor,
    batch: FlatBatch,
    rate: float,
    site: str,
    direction: Direction = "both",
    window: int | None = None,
) -> torch.Tensor:
    """Compute torch's scaled_dot_product_attention for each block of equally long sequences, without padding."""
    outputs = []
    # Parts of a split share one gradient tensor; every slice would have a gradient tensor of the whole batch.
    sizes = [*(block.stop - block.start for block in batch.blocks), len(qkv) - batch.real]
    *parts, rest = qkv.split_with_sizes(sizes)
    for block, part in zip(batch.blocks, parts, strict=True):
        query, key, value = part.view(block.count, block.length, *qkv.shape[1:]).permute(2, 0, 3, 1, 4)
        masked = direction == "right-to-left" or _is_narrow(window, block)
        mask = ~_hidden(block.length, direction, window, qkv.device) if masked else None
        causal = direction == "left-to-right" and not masked
        context = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)
        outputs.append(context.transpose(1, 2).flatten(0, 1))
    return torch.cat([*outputs, torch.zeros_like(rest[:, 0])])


def varlen(
    qkv: torch.Tensor,
    batch: FlatBatch,
    rate: float,
    site: str,
    direction: Direction = "both",
    window: int | None = None,
) -> torch.Tensor:
    """Compute all sequences in one kernel that takes their borders; for half precision without dropout."""
    from torch.nn.attention.varlen import varlen_attn

    query, key, value = (part.contiguous() for part in qkv[: batch.real].unbind(1))
    longest, arguments = batch.longest, _restriction(varlen_attn, direction, window)
    output = varlen_attn(query, key, value, batch.starts, batch.starts, longest, longest, **arguments)
    assert isinstance(output, torch.Tensor)
    return functional.pad(output, (0, 0, 0, 0, 0, len(qkv) - batch.real))


def _restriction(kernel: Callable[..., object], direction: Direction, window: int | None) -> dict[str, Any]:
    """Give the argument for a direction and a window, whose name depends on the version of torch."""
    if direction == "both" and window is None:
        return {}
    if not _has_windows(kernel):
        return {"is_causal": True}
    side = -1 if window is None else window  # -1: all tokens of that side
    return {"window_size": (side, 0 if direction == "left-to-right" else side)}


def _has_windows(kernel: Callable[..., object] | None = None) -> bool:
    """Whether torch's kernel for sequences of all lengths takes a window. Without an argument: torch's own kernel."""
    from torch.nn.attention.varlen import varlen_attn

    return "window_size" in inspect.signature(kernel or varlen_attn).parameters


def explicit(
    qkv: torch.Tensor,
    batch: FlatBatch,
    rate: float,
    site: str,
    direction: Direction = "both",
    window: int | None = None,
) -> torch.Tensor:
    """Compute softmax, dropout with a drawn mask, and both products for each block; the gradient is written by hand."""
    with torch.autocast(qkv.device.type, enabled=False):  # `_Explicit` chooses its own types
        output: torch.Tensor = _Explicit.apply(qkv, batch, rate, site, direction, window)  # type: ignore[no-untyped-call]
    return output


def _blocks(x: torch.Tensor, block: Block) -> torch.Tensor:
    """View one block of (T, k, heads, size) as (k, count, heads, length, size)."""
    return x[block.start : block.stop].view(block.count, block.length, *x.shape[1:]).permute(2, 0, 3, 1, 4)


def _packed(x: torch.Tensor, block: Block, kind: torch.dtype) -> torch.Tensor:
    """Copy one block of (T, k, heads, size) to (k, count * heads, length, size), contiguous for matrix products."""
    view = _blocks(x, block)
    return torch.empty(view.shape, dtype=kind, device=x.device).copy_(view).flatten(1, 2)


def _is_narrow(window: int | None, block: Block) -> bool:
    """Whether the window hides a token of the block's sequences from another token."""
    return window is not None and block.length > window + 1


def _hidden(length: int, direction: Direction, window: int | None, device: torch.device) -> torch.Tensor:
    """Mask of the tokens that each token must not see: bool (length, length)."""
    everything = torch.ones(length, length, dtype=torch.bool, device=device)
    reach = length if window is None else window
    later, earlier = (0 if direction == name else reach for name in ("left-to-right", "right-to-left"))
    return everything.triu(later + 1) | everything.tril(-earlier - 1)


class _Explicit(torch.autograd.Function):
    """Attention with dropout as one node of the graph; gradients are written into one (T, 3, heads, size) tensor.

    On the CPU the products are computed in fp32, also for qkv in half precision: they are a few per cent of a layer's
    time, and compiling half-precision kernels for all their shapes costs more than computing in fp32.
    """

    @staticmethod
    def forward(ctx, qkv, batch, rate, site, direction, window):  # type: ignore[no-untyped-def]
        tokens, _, heads, size = qkv.shape
        kind = torch.promote_types(qkv.dtype, torch.float32) if qkv.device.type == "cpu" else qkv.dtype
        output = qkv.new_empty(tokens, 1, heads, size)
        output[batch.real :] = 0
        elements = [block.count * heads * block.length**2 for block in batch.blocks]
        mask = batch.dropout.mask((sum(elements),), rate, site, qkv.new_empty(0, dtype=kind))
        kept = []
        for block, drawn in zip(batch.blocks, mask.split(elements), strict=True):
            flat = _packed(qkv, block, kind)
            query, key, value = flat
            empty = flat.new_empty(len(query), block.length, block.length)
            scores = torch.baddbmm(empty, query, key.transpose(1, 2), beta=0, alpha=size**-0.5)
            if direction != "both" or _is_narrow(window, block):
                scores.masked_fill_(_hidden(block.length, direction, window, qkv.device), -torch.inf)
            probabilities = torch.softmax(scores, -1)
            keep = drawn.view_as(probabilities)
            # The output is scaled by 1 / (1 - rate), because it is smaller than the probabilities.
            context = torch.bmm(probabilities * keep, value)
            _blocks(output, block)[0].copy_(context.view(block.count, heads, block.length, size))
            kept += [flat, probabilities, keep]
        ctx.save_for_backward(*kept)
        ctx.blocks, ctx.real, ctx.factor, ctx.kind = batch.blocks, batch.real, 1 / (1 - rate), kind
        return output.mul_(ctx.factor).squeeze(1)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        tokens, heads, size = gradient.shape
        result = gradient.new_empty(tokens, 3, heads, size)
        result[ctx.real :] = 0
        gradient = (gradient * ctx.factor).unsqueeze(1)
        kept = ctx.saved_tensors
        for block, flat, probabilities, keep in zip(ctx.blocks, kept[::3], kept[1::3], kept[2::3], strict=True):
            query, key, value = flat
            (outer,) = _packed(gradient, block, ctx.kind)
            through = torch.bmm(outer, value.transpose(1, 2)).mul_(keep)
            through = torch._softmax_backward_data(through, probabilities, -1, probabilities.dtype).mul_(size**-0.5)
            gradients = torch.empty_like(flat)
            torch.bmm(through, key, out=gradients[0])
            torch.bmm(through.transpose(1, 2), query, out=gradients[1])
            torch.bmm((probabilities * keep).transpose(1, 2), outer, out=gradients[2])
            _blocks(result, block).copy_(gradients.view(3, block.count, heads, block.length, size))
        return result, None, None, None, None, None
