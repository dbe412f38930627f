"""Attention over the sequences of a flat batch. A fixed table chooses the implementation; nothing is timed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch.nn import functional

from benchrunner.features.blocks import Bucket
from benchrunner.features.flat_batch import FlatBatch

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
    if window is not None and window + 1 >= batch.longest:  # the window hides nothing
        window = None
    kernel = implementation(
        qkv.device,
        qkv.dtype,
        qkv.shape[-1],
        dropping=rate > 0 and batch.dropping,
        learning=qkv.requires_grad and torch.is_grad_enabled(),
        direction=direction,
        window=window,
    )
    return kernel(qkv, batch, rate, site, direction, window).flatten(1)


def implementation(
    device: torch.device,
    dtype: torch.dtype,
    size: int,
    *,
    dropping: bool,
    learning: bool = False,
    direction: Direction = "both",
    window: int | None = None,
) -> Kernel:
    """Choose the kernel: `explicit` for dropout and for gradients on a CPU, `varlen` for half precision on a GPU.

    All else is computed by `grouped`, also from right to left, and with a window if torch's `varlen_attn` has none.
    """
    if dropping or (learning and device.type == "cpu"):
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
        masked = direction == "right-to-left" or _is_narrow(window, block.length)
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


def _packed(x: torch.Tensor, bucket: Bucket, kind: torch.dtype) -> torch.Tensor:
    """Copy one bucket of (T, k, heads, size) to (k, count * heads, longest, size), contiguous, padded with zeros."""
    view = bucket.pad(x, 0).permute(2, 0, 3, 1, 4)
    return torch.empty(view.shape, dtype=kind, device=x.device).copy_(view).flatten(1, 2)


def _unpack(packed: torch.Tensor, bucket: Bucket, target: torch.Tensor) -> None:
    """Copy (k, count * heads, longest, size) back to the tokens of one bucket in the target (T, k, heads, size)."""
    _, _, heads, size = target.shape
    states = packed.view(len(packed), bucket.count, heads, bucket.longest, size).permute(1, 3, 0, 2, 4)
    if not bucket.padded:
        target[bucket.start : bucket.stop].view(states.shape).copy_(states)
        return
    target[bucket.start : bucket.stop] = bucket.unpad(states)


def _is_narrow(window: int | None, length: int) -> bool:
    """Whether the window hides a token from another token of a sequence."""
    return window is not None and length > window + 1


def _hidden(length: int, direction: Direction, window: int | None, device: torch.device) -> torch.Tensor:
    """Mask of the tokens that each token must not see: bool (length, length)."""
    everything = torch.ones(length, length, dtype=torch.bool, device=device)
    reach = length if window is None else window
    later, earlier = (0 if direction == name else reach for name in ("left-to-right", "right-to-left"))
    return everything.triu(later + 1) | everything.tril(-earlier - 1)


class _Explicit(torch.autograd.Function):
    """Attention as one node of the graph; gradients are written into one (T, 3, heads, size) tensor.

    On the CPU the products are computed in fp32, also for qkv in half precision: they are a few per cent of a layer's
    time, and compiling half-precision kernels for all their shapes costs more than computing in fp32.
    """

    @staticmethod
    def forward(ctx, qkv, batch, rate, site, direction, window):  # type: ignore[no-untyped-def]
        tokens, _, heads, size = qkv.shape
        kind = torch.promote_types(qkv.dtype, torch.float32) if qkv.device.type == "cpu" else qkv.dtype
        dropping = rate > 0 and batch.dropping
        ctx.buckets, ctx.real, ctx.kind = batch.attention_buckets, batch.real, kind
        ctx.scale, ctx.factor, ctx.dropping = size**-0.5, 1 / (1 - rate) if dropping else 1.0, dropping
        output = qkv.new_empty(tokens, 1, heads, size)
        output[batch.real :] = 0
        elements = [bucket.count * heads * bucket.longest**2 for bucket in ctx.buckets]
        like = qkv.new_empty(0, dtype=kind)
        drawn = batch.dropout.mask((sum(elements),), rate, site, like).split(elements) if dropping else []
        kept = []
        for number, bucket in enumerate(ctx.buckets):
            flat = _packed(qkv, bucket, kind)
            query, key, value = flat
            scores = _scores(query, key, bucket, heads, ctx.scale)
            if direction != "both" or _is_narrow(window, bucket.longest):
                scores.masked_fill_(_hidden(bucket.longest, direction, window, qkv.device), -torch.inf)
            probabilities = torch.softmax(scores, -1)
            dropped = drawn[number].view_as(probabilities).mul_(probabilities) if dropping else probabilities
            _unpack(torch.bmm(dropped, value)[None], bucket, output)
            kept += [flat, probabilities, dropped]
        ctx.save_for_backward(*kept)
        # The output is scaled by 1 / (1 - rate), because it is smaller than the probabilities.
        return (output.mul_(ctx.factor) if dropping else output).squeeze(1)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        tokens, heads, size = gradient.shape
        result = gradient.new_empty(tokens, 3, heads, size)
        result[ctx.real :] = 0
        gradient = (gradient * ctx.factor if ctx.dropping else gradient).unsqueeze(1)
        kept = ctx.saved_tensors
        for bucket, flat, probabilities, dropped in zip(ctx.buckets, kept[::3], kept[1::3], kept[2::3], strict=True):
            query, key, value = flat
            (outer,) = _packed(gradient, bucket, ctx.kind)
            # The gradient of softmax, where dropout is a factor of the gradient of its result.
            through = torch.bmm(outer, value.transpose(1, 2)).mul_(dropped)
            through = torch.addcmul(through, probabilities, through.sum(-1, keepdim=True), value=-1)
            gradients, empty = torch.empty_like(flat), flat.new_empty(1, 1, 1)
            torch.baddbmm(empty, through, key, beta=0, alpha=ctx.scale, out=gradients[0])
            torch.baddbmm(empty, through.transpose(1, 2), query, beta=0, alpha=ctx.scale, out=gradients[1])
            torch.bmm(dropped.transpose(1, 2), outer, out=gradients[2])
            _unpack(gradients, bucket, result)
        return result, None, None, None, None, None


def _scores(query: torch.Tensor, key: torch.Tensor, bucket: Bucket, heads: int, scale: float) -> torch.Tensor:
    """Compute the scores of all pairs of tokens, (count * heads, longest, longest).

    The scores of padding are so low that their probability is 0, but not -infinity: a token of the padding may see
    nothing but padding, and its probabilities must still be numbers.
    """
    if not bucket.padded:
        empty = query.new_empty(1, 1, 1)
        return torch.baddbmm(empty, query, key.transpose(1, 2), beta=0, alpha=scale)
    padding = bucket.mask(query.device)[:, None] == 0
    bias = query.new_zeros(padding.shape).masked_fill_(padding, torch.finfo(query.dtype).min / 2)
    return torch.baddbmm(bias.repeat_interleave(heads, 0), query, key.transpose(1, 2), alpha=scale)
