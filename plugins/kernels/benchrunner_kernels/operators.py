"""The kernels as differentiable functions of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from benchrunner_kernels.library import Library


class Attend(torch.autograd.Function):
    """Attention of each token to the tokens of its own sequence: (T, 3, heads, size) -> (T, heads, size).

    Scores, probabilities and sums are in fp32, also for bf16. Tokens after the last sequence get zeros. `of_keys` and
    `of_queries` are what scores say about distances, fp32 (2 * longest - 1, heads, size), or None: see `Distances` in
    source/attention.h.
    """

    @staticmethod
    def forward(ctx, library, qkv, starts, sides, scale, rate, seed, of_keys=None, of_queries=None):  # type: ignore[no-untyped-def]
        tokens, _, heads, size = qkv.shape
        qkv = qkv.contiguous()
        starts = starts.contiguous()
        tables = [None if table is None else table.contiguous() for table in (of_keys, of_queries)]
        longest = max([(len(table) + 1) // 2 for table in tables if table is not None], default=0)
        output = qkv.new_empty(tokens, heads, size)
        log_sums = qkv.new_empty(tokens, heads, dtype=torch.float32)
        numbers = (len(starts) - 1, heads, size, *sides, scale, rate, seed)
        library.call("attention", qkv.dtype, qkv, starts, *numbers, *tables, longest, output, log_sums)
        real = int(starts[-1])
        output[real:] = 0
        ctx.save_for_backward(qkv, starts, output, log_sums, *tables)
        ctx.others = (library, numbers, longest, real)
        return output

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        qkv, starts, output, log_sums, *tables = ctx.saved_tensors
        library, numbers, longest, real = ctx.others
        result = torch.empty_like(qkv)
        result[real:] = 0
        of_tables = [None if table is None else torch.zeros_like(table) for table in tables]
        inputs = (qkv, starts, *numbers, *tables, longest, output, gradient.contiguous(), log_sums)
        library.call("attention_backward", qkv.dtype, *inputs, result, *of_tables)
        return None, result, None, None, None, None, None, *of_tables


class AddAndNorm(torch.autograd.Function):
    """LayerNorm of residual + dropout(x): (T, width) -> fp32 (T, width). x may be bf16; all else is fp32."""

    @staticmethod
    def forward(ctx, library, x, residual, weight, bias, epsilon, rate, seed):  # type: ignore[no-untyped-def]
        rows, width = x.shape
        x = x.contiguous()
        residual = residual.contiguous()
        sums = torch.empty_like(residual)
        statistics = residual.new_empty(rows, 2)
        y = torch.empty_like(residual)
        tensors = (x, residual, weight, bias, sums, statistics, y)
        library.call("add_and_norm", x.dtype, *tensors, rows, width, rate, epsilon, seed)
        ctx.save_for_backward(sums, statistics, weight)
        ctx.others = (library, x.dtype, rate, seed)
        return y

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        sums, statistics, weight = ctx.saved_tensors
        library, kind, rate, seed = ctx.others
        rows, width = sums.shape
        of_residual = torch.empty_like(sums)
        of_x = torch.empty_like(sums, dtype=kind)
        parts = sums.new_empty(-(-rows // CHUNK), 2, width)
        tensors = (gradient.contiguous(), sums, statistics, weight, of_residual, of_x, parts)
        library.call("add_and_norm_backward", kind, *tensors, rows, width, rate, seed)
        of_weight, of_bias = parts.sum(0)
        return None, of_x, of_residual, of_weight, of_bias, None, None, None


class Gelu(torch.autograd.Function):
    """GELU with the exact distribution function, in fp32. The forward pass computes and keeps the slope at each number.

    Both need the same exponential function, so that the backward pass only multiplies.
    """

    @staticmethod
    def forward(ctx, library, x):  # type: ignore[no-untyped-def]
        x = x.contiguous()
        y = torch.empty_like(x)
        slope = torch.empty_like(x) if ctx.needs_input_grad[1] else None
        library.call("gelu", x.dtype, x, y, slope, x.numel())
        ctx.save_for_backward(slope)
        return y

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        (slope,) = ctx.saved_tensors
        return None, gradient * slope


def adamw(
    library: Library,
    weight: Tensor,
    gradient: Tensor,
    mean: Tensor,
    square: Tensor,
    copy: Tensor,
    *,
    step: int,
    divisor: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
) -> None:
    """Take a step of AdamW: see `Kernels.adamw`."""
    of_mean = 1 - beta1**step
    of_root = (1 - beta2**step) ** 0.5
    tensors = (gradient.contiguous(), weight, mean, square, copy)
    factors = (divisor, 1 - lr * weight_decay, beta1, beta2)
    library.call("adamw", gradient.dtype, *tensors, weight.numel(), *factors, lr / of_mean, of_root, eps)


def norm(library: Library, x: Tensor) -> Tensor:
    """Compute the norm of a tensor: fp32, also for bf16."""
    x = x.contiguous()
    sums = torch.empty(-(-x.numel() // PART), dtype=torch.float32)
    library.call("squares", x.dtype, x, x.numel(), sums)
    return sums.sum().sqrt()


CHUNK = 32
"""Rows of a task, as in source/parallel.h."""
PART = 1 << 14
"""Numbers of a task whose arrays have no rows, as in source/parallel.h."""
