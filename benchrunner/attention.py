"""Attention over ragged sequences: one function, one fixed table of implementations, no timing and no guessing."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from benchrunner.flat import FlatBatch

Kernel = Callable[[torch.Tensor, FlatBatch, float, str], torch.Tensor]
"""From (T, 3, heads, size), the batch, the dropout rate and its site to (T, heads, size)."""


def attend(qkv: torch.Tensor, batch: FlatBatch, *, rate: float, site: str) -> torch.Tensor:
    """Every token attends to its own sequence: (T, 3, heads, size) -> (T, heads * size).

    `rate` is the dropout of the attention probabilities.
    """
    dropping = rate > 0 and batch.dropping
    return implementation(qkv.device, qkv.dtype, qkv.shape[-1], dropping=dropping)(qkv, batch, rate, site).flatten(1)


def implementation(device: torch.device, dtype: torch.dtype, size: int, *, dropping: bool) -> Kernel:
    """The table. Varlen kernels take half precision and no dropout; only the explicit one takes a drawn mask."""
    if dropping:
        return explicit
    if device.type == "cuda" and dtype in (torch.float16, torch.bfloat16) and size % 8 == 0 and size <= 256:
        return varlen
    return grouped


def grouped(qkv: torch.Tensor, batch: FlatBatch, rate: float, site: str) -> torch.Tensor:
    """scaled_dot_product_attention over each block of equally long sequences: nothing is padded."""
    outputs = []
    for run in batch.runs:
        query, key, value = _heads_first(qkv, run.start, run.count, run.length)
        context = functional.scaled_dot_product_attention(query, key, value)
        outputs.append(context.transpose(1, 2).flatten(0, 1))
    return torch.cat(outputs)


def varlen(qkv: torch.Tensor, batch: FlatBatch, rate: float, site: str) -> torch.Tensor:
    """One kernel for all sequences; it reads their borders."""
    from torch.nn.attention.varlen import varlen_attn

    query, key, value = (one.contiguous() for one in qkv.unbind(1))
    longest = batch.longest
    output = varlen_attn(query, key, value, batch.starts, batch.starts, longest, longest)
    assert isinstance(output, torch.Tensor)
    return output


def explicit(qkv: torch.Tensor, batch: FlatBatch, rate: float, site: str) -> torch.Tensor:
    """softmax, the drawn mask and two products, block by block, with the gradient written out."""
    with torch.autocast(qkv.device.type, enabled=False):  # qkv has the precision asked for; nothing is cast again
        output: torch.Tensor = _Explicit.apply(qkv, batch, rate, site)  # type: ignore[no-untyped-call]
    return output


def _heads_first(x: torch.Tensor, start: int, count: int, length: int) -> tuple[torch.Tensor, ...]:
    """(T, 3, heads, size) -> three views (count, heads, length, size)."""
    block = x[start : start + count * length].view(count, length, *x.shape[1:])
    return tuple(one.transpose(1, 2) for one in block.unbind(2))


class _Explicit(torch.autograd.Function):
    """One node in the graph instead of eight a block; gradients go straight into one (T, 3, heads, size) tensor."""

    @staticmethod
    def forward(ctx, qkv, batch, rate, site):  # type: ignore[no-untyped-def]
        tokens, _, heads, size = qkv.shape
        output = qkv.new_empty(tokens, heads, size)
        elements = [run.count * heads * run.length**2 for run in batch.runs]
        mask = batch.dropout.mask((sum(elements),), rate, site, qkv.device)
        kept = []
        for run, drawn in zip(batch.runs, mask.split(elements), strict=True):
            query, key, value = _heads_first(qkv, run.start, run.count, run.length)
            scores = (query * size**-0.5) @ key.transpose(-1, -2)
            probabilities = torch.softmax(scores, -1)
            keep = drawn.view_as(probabilities)
            # Scaling by 1 / (1 - rate) is left to the output, which is smaller than the probabilities.
            context = (probabilities * keep) @ value
            block = output[run.start : run.stop].unflatten(0, (run.count, run.length))
            block.copy_(context.transpose(1, 2))
            kept += [probabilities, keep]
        output.mul_(1 / (1 - rate))
        ctx.save_for_backward(qkv, *kept)
        ctx.runs, ctx.rate = batch.runs, rate
        return output

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        qkv, *kept = ctx.saved_tensors
        result = torch.empty_like(qkv)
        factor, scale = 1 / (1 - ctx.rate), qkv.shape[-1] ** -0.5
        gradient = gradient * factor
        for run, probabilities, keep in zip(ctx.runs, kept[::2], kept[1::2], strict=True):
            query, key, value = _heads_first(qkv, run.start, run.count, run.length)
            to_query, to_key, to_value = _heads_first(result, run.start, run.count, run.length)
            outer = gradient[run.start : run.stop].unflatten(0, (run.count, run.length)).transpose(1, 2)
            to_value.copy_((probabilities * keep).transpose(-1, -2) @ outer)
            through = torch._softmax_backward_data(
                (outer @ value.transpose(-1, -2)).mul_(keep), probabilities, -1, probabilities.dtype
            )
            to_query.copy_((through @ key).mul_(scale))
            to_key.copy_((through.transpose(-1, -2) @ query).mul_(scale))
        return result, None, None, None
