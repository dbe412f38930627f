"""Attention over the sequences of a flat batch. A fixed table chooses the implementation; nothing is timed."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from benchrunner.engine import FlatBatch
from benchrunner_checkpoints.attention.buckets import PaddedRows, rows_of
from benchrunner_checkpoints.attention.fused_attention import AttentionLayer, Direction, efficient, flash

Kernel = Callable[[Tensor, FlatBatch, AttentionLayer], Tensor]
"""Computes (T, heads, size) from qkv (T, 3, heads, size)."""


def attend(
    qkv: Tensor,
    batch: FlatBatch,
    *,
    rate: float,
    site: str,
    direction: Direction = "both",
    window: int | None = None,
) -> Tensor:
    """Let every token attend to those of its own sequence: (T, 3, heads, size) -> (T, heads * size).

    `rate` is the dropout of the attention probabilities, `site` the name of the layer for drawing the mask. With the
    direction `left-to-right`, a token attends only to itself and to the tokens before it. With a window, a token
    attends to at most `window` tokens on each side of itself.
    """
    if window is not None:
        longest = batch.longest if batch.static is None else batch.static.longest
        if window + 1 >= longest:  # the window hides nothing
            window = None
    layer = AttentionLayer(rate, site, direction, window)
    if batch.kernels is not None:
        context = batch.kernels.attend(qkv, batch.starts, layer.sides, *batch.drawn(rate, site))
        if context is not None:
            return context.flatten(1)
    return implementation(
        qkv.device,
        qkv.dtype,
        qkv.shape[-1],
        dropping=rate > 0 and batch.dropping,
        learning=qkv.requires_grad and torch.is_grad_enabled(),
        window=window,
    )(qkv, batch, layer).flatten(1)


def attention_kernel(device: torch.device, precision: str, *, dropping: bool) -> str:
    """Name the kernel of `attend` for heads of 64 numbers."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    return implementation(device, dtype, 64, dropping=dropping).__name__


def implementation(
    device: torch.device,
    dtype: torch.dtype,
    size: int,
    *,
    dropping: bool,
    learning: bool = False,
    window: int | None = None,
) -> Kernel:
    """Choose the kernel: a fused one on a GPU, `explicit` for dropout and for gradients on a CPU, else `grouped`.

    Flash attention needs half precision and compute capability 8.0. The memory-efficient kernel computes fp32 and fp16
    on any GPU, without a window. Both have heads of at most 256 numbers, in multiples of 16 bytes. On GPUs of
    capability 8.6 and 8.9, flash attention has no gradient with dropout for heads of more than 192 numbers. If neither
    of them can be used, a GPU uses `explicit` or `grouped`, too.
    """
    version = capability(device)
    if version is not None and size <= 256 and size * dtype.itemsize % 16 == 0:
        if dtype in (torch.float16, torch.bfloat16) and version >= (8, 0) and size <= 192:
            return flash
        if dtype in (torch.float16, torch.float32) and window is None:
            return efficient
    return explicit if dropping or (learning and device.type == "cpu") else grouped


def capability(device: torch.device) -> tuple[int, int] | None:
    """Return the CUDA compute capability of a device; None where torch's fused kernels for CUDA do not run.

    The device `meta`, which computes shapes only, stands for a current GPU, so that tests can follow its path.
    """
    if device.type == "cuda" and torch.version.hip is None:
        return torch.cuda.get_device_capability(device)
    return (8, 0) if device.type == "meta" else None


def grouped(qkv: Tensor, batch: FlatBatch, layer: AttentionLayer) -> Tensor:
    """Compute torch's scaled_dot_product_attention for each block of equally long sequences, without padding."""
    outputs = []
    # Parts of a split share one gradient tensor; every slice would have a gradient tensor of the whole batch.
    sizes = [block.stop - block.start for block in batch.blocks]
    *parts, rest = qkv.split_with_sizes([*sizes, len(qkv) - batch.real])
    for block, part in zip(batch.blocks, parts, strict=True):
        states = part.view(block.count, block.length, *qkv.shape[1:])
        query, key, value = states.permute(2, 0, 3, 1, 4)  # each (count, heads, length, size)
        mask = None
        is_causal = False
        if _is_narrow(layer, block.length):
            mask = ~_hidden(block.length, layer, qkv.device)
        elif layer.direction == "left-to-right":
            is_causal = True
        context = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=is_causal)
        outputs.append(context.transpose(1, 2).flatten(0, 1))
    outputs.append(torch.zeros_like(rest[:, 0]))
    return torch.cat(outputs)


def explicit(qkv: Tensor, batch: FlatBatch, layer: AttentionLayer) -> Tensor:
    """Compute softmax, dropout with a drawn mask, and both products in rows; the gradient is written by hand."""
    with torch.autocast(qkv.device.type, enabled=False):  # `_Explicit` chooses its own types
        output: Tensor = _Explicit.apply(qkv, batch, layer)  # type: ignore[no-untyped-call]
    return output


def _gathered(x: Tensor, rows: PaddedRows, kind: torch.dtype) -> Tensor:
    """Copy the tokens of rows from (T, k, heads, size) to (k, count * heads, length, size), contiguous.

    Padding reads the last entry of x.
    """
    tokens = x[rows.bucket.start : rows.bucket.stop]
    if rows.padded:
        tokens = x.index_select(0, rows.sources % len(x))
    by_row = tokens.view(rows.count, rows.length, *x.shape[1:])
    states = by_row.permute(2, 0, 3, 1, 4)  # (k, count, heads, length, size)
    return torch.empty(states.shape, dtype=kind, device=x.device).copy_(states).flatten(1, 2)


def _scatter(values: Tensor, rows: PaddedRows, target: Tensor) -> None:
    """Copy (k, count * heads, length, size) back to the tokens of rows in the target (T, k, heads, size)."""
    _, _, heads, size = target.shape
    by_head = values.view(len(values), rows.count, heads, rows.length, size)
    states = by_head.permute(1, 3, 0, 2, 4)  # (count, length, k, heads, size)
    part = target[rows.bucket.start : rows.bucket.stop]
    if not rows.padded:
        part.view(states.shape).copy_(states)
        return
    padded = torch.empty(states.shape, dtype=target.dtype, device=target.device).copy_(states)
    torch.index_select(padded.flatten(0, 1), 0, rows.places, out=part)


def _is_narrow(layer: AttentionLayer, length: int) -> bool:
    """Whether the window hides a token from another token of a sequence."""
    return layer.window is not None and length > layer.window + 1


def _hidden(length: int, layer: AttentionLayer, device: torch.device) -> Tensor:
    """Mask of the tokens that each token must not see: bool (length, length)."""
    before, after = [length if side == -1 else side for side in layer.sides]
    everything = torch.ones(length, length, dtype=torch.bool, device=device)
    return everything.triu(after + 1) | everything.tril(-before - 1)


class _Explicit(torch.autograd.Function):
    """Attention as one node of the graph; gradients are written into one (T, 3, heads, size) tensor.

    Scores and probabilities are in fp32, also for qkv in half precision. On the CPU the products are a few per cent of
    a layer's time, and compiling half-precision kernels for all their shapes costs more than computing in fp32.
    """

    @staticmethod
    def forward(ctx, qkv, batch, layer):  # type: ignore[no-untyped-def]
        tokens, _, heads, size = qkv.shape
        kind = torch.promote_types(qkv.dtype, torch.float32) if qkv.device.type == "cpu" else qkv.dtype
        dropping = layer.rate > 0 and batch.dropping
        ctx.rows = batch.once(rows_of)
        ctx.real = batch.real
        ctx.kind = kind
        ctx.scale = size**-0.5
        ctx.factor = 1 / (1 - layer.rate) if dropping else 1.0
        empty = qkv.new_empty(1, 1, 1, dtype=kind)
        output = qkv.new_empty(tokens, 1, heads, size)
        output[batch.real :] = 0
        drawn = ()
        if dropping:
            elements = [rows.count * heads * rows.length**2 for rows in ctx.rows]
            mask = batch.dropout.mask((sum(elements),), layer.rate, layer.site, empty)
            drawn = mask.split(elements)
        kept = []
        for number, rows in enumerate(ctx.rows):
            flat = _gathered(qkv, rows, kind)
            query, key, value = flat  # each (count * heads, length, size)
            scores = torch.baddbmm(empty, query, key.transpose(1, 2), beta=0, alpha=ctx.scale)
            if rows.bias is not None:
                scores.view(rows.count, heads, rows.length, rows.length).add_(rows.bias)
            if layer.direction != "both" or _is_narrow(layer, rows.length):
                scores.masked_fill_(_hidden(rows.length, layer, qkv.device), -torch.inf)
            probabilities = torch.softmax(scores, -1)
            dropped = probabilities
            if dropping:
                dropped = drawn[number].view_as(probabilities).mul_(probabilities)
            _scatter(torch.bmm(dropped, value)[None], rows, output)
            kept += [flat, probabilities, dropped]
        ctx.save_for_backward(*kept)
        if dropping:  # the output is smaller than the probabilities, so it is scaled in their place
            output.mul_(ctx.factor)
        return output.squeeze(1)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        tokens, heads, size = gradient.shape
        empty = gradient.new_empty(1, 1, 1, dtype=ctx.kind)
        result = gradient.new_empty(tokens, 3, heads, size)
        result[ctx.real :] = 0
        outer_states = gradient.new_empty(tokens + 1, 1, heads, size)  # the last entry is the gradient of padding
        torch.mul(gradient, ctx.factor, out=outer_states[:tokens, 0])
        outer_states[tokens:] = 0
        kept = iter(ctx.saved_tensors)
        for rows in ctx.rows:
            flat = next(kept)
            probabilities = next(kept)
            dropped = next(kept)
            query, key, value = flat
            (outer,) = _gathered(outer_states, rows, ctx.kind)
            # The gradient of softmax, where dropout is a factor of the gradient of its result.
            through = torch.bmm(outer, value.transpose(1, 2)).mul_(dropped)
            total = through.sum(-1, keepdim=True)
            through = torch.addcmul(through, probabilities, total, value=-1)
            gradients = torch.empty_like(flat)
            of_query, of_key, of_value = gradients
            torch.baddbmm(empty, through, key, beta=0, alpha=ctx.scale, out=of_query)
            torch.baddbmm(empty, through.transpose(1, 2), query, beta=0, alpha=ctx.scale, out=of_key)
            torch.bmm(dropped.transpose(1, 2), outer, out=of_value)
            _scatter(gradients, rows, result)
        return result, None, None
