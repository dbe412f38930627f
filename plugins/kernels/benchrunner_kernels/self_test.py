"""Short tests of the kernels against torch, which take a few milliseconds before the first fit of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor
from torch.nn import functional

from benchrunner_kernels.library import Library
from benchrunner_kernels.operators import AddAndNorm, Attend, Gelu, adamw, norm

ADAM = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "eps": 1e-6, "weight_decay": 0.1}
TOLERANCES = {torch.float32: 1e-4, torch.bfloat16: 5e-2}
"""Type of the inputs -> largest difference between a kernel and torch; numbers are of the size of 1."""


def attends(library: Library) -> bool:
    """Whether attention over two sequences has torch's outputs and gradients."""
    lengths = [3, 18]
    starts = torch.tensor([0, 3, 21], dtype=torch.int32)
    qkv = _numbers(sum(lengths), 3, 2, 20)  # (T, 3, heads, size)

    def ours(x: Tensor) -> Tensor:
        output: Tensor = Attend.apply(library, x, starts, (-1, -1), 20**-0.5, 0.0, 0)  # type: ignore[no-untyped-call]
        return output

    def theirs(x: Tensor) -> Tensor:
        parts = [functional.scaled_dot_product_attention(*part.permute(1, 2, 0, 3)) for part in torch.split(x, lengths)]
        return torch.cat(parts, 1).transpose(0, 1)

    return _agree(ours, theirs, qkv)


def attends_by_distance(library: Library) -> bool:
    """Whether attention over one sequence has torch's outputs and gradients where scores depend on distances."""
    length, heads, size = 19, 2, 12
    starts = torch.tensor([0, length], dtype=torch.int32)
    distances = torch.arange(length)[None] - torch.arange(length)[:, None] + length - 1

    def ours(x: Tensor, *tables: Tensor) -> Tensor:
        output: Tensor = Attend.apply(library, x, starts, (-1, -1), 0.2, 0.0, 0, *tables)  # type: ignore[no-untyped-call]
        return output

    def theirs(x: Tensor, of_keys: Tensor, of_queries: Tensor) -> Tensor:
        query, key, value = x.float().permute(1, 2, 0, 3).unbind()
        scores = query @ key.transpose(1, 2)
        scores = scores + torch.einsum("hid,ijhd->hij", query, of_keys[distances])
        scores = scores + torch.einsum("hjd,ijhd->hij", key, of_queries[distances])
        context: Tensor = (scores * 0.2).softmax(-1) @ value
        return context.transpose(0, 1).to(x.dtype)

    tables = _numbers(2, 2 * length - 1, heads, size).unbind()
    return _agree(ours, theirs, _numbers(length, 3, heads, size), *tables)


def adds_and_norms(library: Library) -> bool:
    """Whether the norm of a sum has torch's output and gradients."""
    rows, width = 35, 20
    x, residual = _numbers(2, rows, width).unbind()
    weight, bias = _numbers(2, width).unbind()

    def ours(x: Tensor, *others: Tensor) -> Tensor:
        y: Tensor = AddAndNorm.apply(library, x, *others, 1e-5, 0.0, 0)  # type: ignore[no-untyped-call]
        return y

    def theirs(x: Tensor, residual: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return functional.layer_norm(residual + x.float(), (width,), weight, bias, 1e-5)

    return _agree(ours, theirs, x, residual, weight, bias)


def applies_gelu(library: Library) -> bool:
    """Whether GELU has torch's output and gradient."""

    def ours(x: Tensor) -> Tensor:
        y: Tensor = Gelu.apply(library, x)  # type: ignore[no-untyped-call]
        return y

    return _agree(ours, functional.gelu, _numbers(35) * 4, kinds=[torch.float32])


def steps_as_adam(library: Library) -> bool:
    """Whether two steps of AdamW change a weight and its moments as torch does, and round the weight to its copy."""
    for kind in TOLERANCES:
        weight, mean, square = _numbers(35), torch.zeros(35), torch.zeros(35)
        expected = [weight.clone(), mean.clone(), square.clone()]
        copy = weight.bfloat16()
        for step in (1, 2):
            gradient = (_numbers(35) * step).to(kind)
            if not bool((norm(library, gradient) - gradient.float().norm()).abs() < 1e-4):
                return False
            adamw(library, weight, gradient, mean, square, copy, step=step, divisor=2.0, **ADAM)
            torch._fused_adamw_(
                expected[:1],
                [gradient.float() / 2],
                expected[1:2],
                expected[2:],
                [],
                [torch.tensor(float(step))],
                **ADAM,  # type: ignore[call-overload]
                amsgrad=False,
                maximize=False,
            )
        changed = zip((weight, mean, square), expected, strict=True)
        close = all(bool((one - other).abs().max() < 1e-4) for one, other in changed)
        if not close or not torch.equal(copy, weight.bfloat16()):
            return False
    return True


TESTS: Mapping[str, Callable[[Library], bool]] = {
    "attend": attends,
    "attend_by_distance": attends_by_distance,
    "add_and_norm": adds_and_norms,
    "gelu": applies_gelu,
    "adamw": steps_as_adam,
}
"""Name of an operator -> whether its kernel agrees with torch."""


def _numbers(*shape: int) -> Tensor:
    """Return numbers between -1 and 1 that are always the same."""
    return torch.arange(torch.Size(shape).numel(), dtype=torch.float32).mul(2.4).sin().view(shape)


def _agree(
    ours: Callable[..., Tensor],
    theirs: Callable[..., Tensor],
    x: Tensor,
    *others: Tensor,
    kinds: Iterable[torch.dtype] = tuple(TOLERANCES),
) -> bool:
    """Whether two functions have equal outputs and gradients up to rounding, for x in each type."""
    for kind in kinds:
        results = []
        for function in (ours, theirs):
            inputs = [x.to(kind), *others]
            inputs = [tensor.clone().requires_grad_() for tensor in inputs]
            output = function(*inputs)
            gradients = torch.autograd.grad(output, inputs, _numbers(*output.shape).to(output.dtype))
            results.append((output, *gradients))
        for one, other in zip(*results, strict=True):
            if not bool((one - other).abs().max() < TOLERANCES[kind]):
                return False
    return True
