"""Attention over ragged sequences: one function, one fixed table of implementations, no timing and no guessing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from benchrunner.features.flat_batch import Block, FlatBatch

Kernel = Callable[[torch.Tensor, FlatBatch, float, str, bool], torch.Tensor]
"""From (T, 3, heads, size), the batch, the dropout rate, its site and whether to look left only to (T, heads, size)."""


def attend(qkv: torch.Tensor, batch: FlatBatch, *, rate: float, site: str, left_only: bool = False) -> torch.Tensor:
    """Every token attends to its own sequence: (T, 3, heads, size) -> (T, heads * size).

    `rate` is the dropout of the attention probabilities; with `left_only` a token sees itself and those before it.
    """
    dropping = rate > 0 and batch.dropping
    kernel = implementation(qkv.device, qkv.dtype, qkv.shape[-1], dropping=dropping)
    return kernel(qkv, batch, rate, site, left_only).flatten(1)


def implementation(device: torch.device, dtype: torch.dtype, size: int, *, dropping: bool) -> Kernel:
    """The table. Varlen kernels take half precision and no dropout; only the explicit one takes a drawn mask."""
    if dropping:
        return explicit
    if device.type == "cuda" and dtype in (torch.float16, torch.bfloat16) and size % 8 == 0 and size <= 256:
        return varlen
    return grouped


def grouped(qkv: torch.Tensor, batch: FlatBatch, rate: float, site: str, left_only: bool = False) -> torch.Tensor:
    """scaled_dot_product_attention over each block of equally long sequences: nothing is padded."""
    outputs = []
    for block in batch.blocks:
        query, key, value = _blocks(qkv, block)
        context = functional.scaled_dot_product_attention(query, key, value, is_causal=left_only)
        outputs.append(context.transpose(1, 2).flatten(0, 1))
    filling = qkv.new_zeros(len(qkv) - batch.real, *qkv.shape[2:])
    return torch.cat([*outputs, filling])


def varlen(qkv: torch.Tensor, batch: FlatBatch, rate: float, site: str, left_only: bool = False) -> torch.Tensor:
    """One kernel for all sequences; it reads their borders."""
    from torch.nn.attention.varlen import varlen_attn

    query, key, value = (one.contiguous() for one in qkv[: batch.real].unbind(1))
    longest, restriction = batch.longest, _to_the_left(varlen_attn) if left_only else {}
    output = varlen_attn(query, key, value, batch.starts, batch.starts, longest, longest, **restriction)
    assert isinstance(output, torch.Tensor)
    return functional.pad(output, (0, 0, 0, 0, 0, len(qkv) - batch.real))


def _to_the_left(kernel: Callable[..., object]) -> dict[str, Any]:
    """How this version of torch is asked to look left only: its first one with the kernel had another word for it."""
    windows = "window_size" in inspect.signature(kernel).parameters
    return {"window_size": (-1, 0)} if windows else {"is_causal": True}


def explicit(qkv: torch.Tensor, batch: FlatBatch, rate: float, site: str, left_only: bool = False) -> torch.Tensor:
    """softmax, the drawn mask and two products, block by block, with the gradient written out."""
    with torch.autocast(qkv.device.type, enabled=False):  # its types are its own affair
        output: torch.Tensor = _Explicit.apply(qkv, batch, rate, site, left_only)  # type: ignore[no-untyped-call]
    return output


def _blocks(x: torch.Tensor, block: Block) -> torch.Tensor:
    """One block of (T, k, heads, size) as a view (k, count, heads, length, size)."""
    return x[block.start : block.stop].view(block.count, block.length, *x.shape[1:]).permute(2, 0, 3, 1, 4)


def _packed(x: torch.Tensor, block: Block, kind: torch.dtype) -> torch.Tensor:
    """The same as (k, count * heads, length, size) in one piece: one copy, so that no product makes its own."""
    view = _blocks(x, block)
    return torch.empty(view.shape, dtype=kind, device=x.device).copy_(view).flatten(1, 2)


def _later(length: int, device: torch.device) -> torch.Tensor:
    """True where a column's token comes after a row's: (length, length)."""
    return torch.ones(length, length, dtype=torch.bool, device=device).triu(1)


class _Explicit(torch.autograd.Function):
    """One node in the graph instead of eight a block; gradients go straight into one (T, 3, heads, size) tensor.

    On the CPU its products are fp32 whatever qkv is: they are a few per cent of a layer's, and small half-precision
    products cost more to compile for all their shapes than to compute.
    """

    @staticmethod
    def forward(ctx, qkv, batch, rate, site, left_only):  # type: ignore[no-untyped-def]
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
            if left_only:
                scores.masked_fill_(_later(block.length, qkv.device), -torch.inf)
            probabilities = torch.softmax(scores, -1)
            keep = drawn.view_as(probabilities)
            # Scaling by 1 / (1 - rate) is left to the output, which is smaller than the probabilities.
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
            made = torch.empty_like(flat)
            torch.bmm(through, key, out=made[0])
            torch.bmm(through.transpose(1, 2), query, out=made[1])
            torch.bmm((probabilities * keep).transpose(1, 2), outer, out=made[2])
            _blocks(result, block).copy_(made.view(3, block.count, heads, block.length, size))
        return result, None, None, None, None
