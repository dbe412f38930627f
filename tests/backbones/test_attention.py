"""Every attention kernel against plain attention that computes one sequence and one head at a time."""

from __future__ import annotations

import inspect
import itertools
from typing import get_args

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.nn.attention.varlen import varlen_attn

from benchrunner.backbones.attention import Direction, _restriction, attend, explicit, grouped, implementation, varlen
from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import FlatBatch, collate
from benchrunner.features.randomness import Dropout

CPU = torch.device("cpu")
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
RAGGED = [(1,), (5,), (3, 3, 3), (1, 2, 7, 2, 1), (4, 9, 4, 1, 9, 12), (60, 61, 30)]


def batch_of(lengths: tuple[int, ...], dropout: Dropout | None = None, device: torch.device = CPU) -> FlatBatch:
    total, count = sum(lengths), np.arange(len(lengths) + 1)
    zeros = np.zeros(total, dtype=np.int32)
    features = Features(zeros, zeros.astype(np.int8), np.cumsum([0, *lengths]), count, count[:-1], {})
    return collate(features, np.arange(len(lengths)), device, dropout=dropout)


def plain(
    qkv: torch.Tensor,
    batch: FlatBatch,
    rate: float,
    site: str,
    direction: Direction = "both",
    window: int | None = None,
) -> torch.Tensor:
    """Compute attention one sequence and one head at a time; the mask is the batch's dropout of ones.

    Each token has its own softmax over the scores of the tokens that it sees.
    """
    heads = qkv.shape[2]
    widths = [bucket.longest for bucket in batch.attention_buckets for _ in range(bucket.count)]
    mask = batch.dropout(qkv.new_ones(heads * sum(width**2 for width in widths)), rate, site)
    outputs, used = [], 0
    borders = batch.starts.tolist()
    for (start, stop), width in zip(itertools.pairwise(borders), widths, strict=True):
        length, columns = stop - start, []
        for head in range(heads):
            query, key, value = (qkv[start:stop, which, head] for which in range(3))
            scores = query @ key.T / qkv.shape[-1] ** 0.5
            reach = length if window is None else window
            ends = [at + 1 if direction == "left-to-right" else min(at + reach + 1, length) for at in range(length)]
            begins = [at if direction == "right-to-left" else max(at - reach, 0) for at in range(length)]
            rows = [torch.softmax(row[b:e], -1) for row, b, e in zip(scores, begins, ends, strict=True)]
            weights = torch.stack(
                [functional.pad(row, (b, length - e)) for row, b, e in zip(rows, begins, ends, strict=True)]
            )
            keep = mask[used : used + width**2].view(width, width)[:length, :length]
            used += width**2
            columns.append((weights * keep) @ value)
        outputs.append(torch.stack(columns, 1))
    return torch.cat(outputs)


def drawn(batch: FlatBatch, heads: int, size: int, dtype: torch.dtype) -> torch.Tensor:
    source = torch.Generator().manual_seed(size)
    return torch.randn(len(batch.tokens), 3, heads, size, generator=source, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("lengths", RAGGED)
@pytest.mark.parametrize(("heads", "size"), [(1, 1), (3, 7), (2, 32), (1, 48), (2, 64), (1, 80), (2, 128)])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_both_kernels_and_their_gradients_equal_plain_attention(
    lengths: tuple[int, ...], heads: int, size: int, rate: float, direction: Direction
) -> None:
    check_kernels(batch_of(lengths, Dropout(3, 1, 0)), heads, size, rate, direction, None)


@pytest.mark.parametrize("window", [0, 1, 3, 100])
@pytest.mark.parametrize("rate", [0.0, 0.5])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_window_hides_tokens_that_are_far_away(window: int, rate: float, direction: Direction) -> None:
    check_kernels(batch_of((4, 9, 4, 1, 9, 12), Dropout(3, 1, 0)), 2, 7, rate, direction, window)
    check_kernels(batch_of((2, 15, 16, 16), Dropout(3, 1, 0)), 2, 7, rate, direction, window)


def check_kernels(
    batch: FlatBatch, heads: int, size: int, rate: float, direction: Direction, window: int | None
) -> None:
    """Compare the results and gradients of the CPU's kernels with plain attention."""
    qkv = drawn(batch, heads, size, torch.float64)
    expected = plain(qkv, batch, rate, "site", direction, window)
    weight = torch.linspace(-1, 1, expected.numel(), dtype=torch.float64).view_as(expected)
    (expected_gradient,) = torch.autograd.grad((expected * weight).sum(), qkv)
    for kernel in (explicit,) if rate else (explicit, grouped):
        output = kernel(qkv, batch, rate, "site", direction, window)
        torch.testing.assert_close(output, expected, rtol=1e-12, atol=1e-12)
        (gradient,) = torch.autograd.grad((output * weight).sum(), qkv)
        torch.testing.assert_close(gradient, expected_gradient, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_written_out_gradient_is_the_numerical_one(rate: float, direction: Direction) -> None:
    batch = batch_of((1, 3, 2, 3), Dropout(5, 0, 0))
    qkv = drawn(batch, 2, 3, torch.float64)
    assert torch.autograd.gradcheck(lambda x: explicit(x, batch, rate, "site", direction), (qkv,))


@pytest.mark.parametrize("size", [5, 64])
def test_single_precision_is_near_double_precision(size: int) -> None:
    batch = batch_of((4, 9, 4, 1, 9, 12), Dropout(3, 1, 0))
    qkv = drawn(batch, 2, size, torch.float32)
    for rate, kernel in ((0.0, grouped), (0.0, explicit), (0.1, explicit)):
        expected = plain(qkv.double(), batch, rate, "site")
        torch.testing.assert_close(kernel(qkv, batch, rate, "site").double(), expected, rtol=1e-5, atol=2e-6)


def test_a_gradient_in_another_memory_layout_gives_the_same() -> None:
    batch = batch_of((2, 3, 3), Dropout(3, 1, 0))
    qkv = drawn(batch, 2, 4, torch.float64)
    for function in (lambda x: x.permute(2, 0, 1).cumsum(0).pow(2).sum(), lambda x: x.sum()):
        (expected,) = torch.autograd.grad(function(plain(qkv, batch, 0.2, "site")), qkv)
        (gradient,) = torch.autograd.grad(function(explicit(qkv, batch, 0.2, "site")), qkv)
        torch.testing.assert_close(gradient, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_no_sequence_sees_another_one(rate: float) -> None:
    batch = batch_of((2, 3, 3, 5), Dropout(3, 1, 0))
    qkv = drawn(batch, 2, 8, torch.float32).detach()
    changed = qkv.clone()
    changed[2:5] = 7.0
    before, after = (attend(x, batch, rate=rate, site="site") for x in (qkv, changed))
    same = (before == after).all(-1).tolist()
    assert same == [True] * 2 + [False] * 3 + [True] * 8


@pytest.mark.parametrize("rate", [0.0, 0.1])
def test_a_direction_hides_later_or_earlier_tokens(rate: float) -> None:
    batch = batch_of((2, 3, 3, 5), Dropout(3, 1, 0))
    qkv = drawn(batch, 2, 8, torch.float32).detach()
    changed = qkv.clone()
    changed[10] = 7.0  # the third of the last five
    unchanged = {
        direction: (attend(qkv, batch, rate=rate, site="site", direction=direction) == after).all(-1).tolist()
        for direction in DIRECTIONS
        for after in [attend(changed, batch, rate=rate, site="site", direction=direction)]
    }
    assert unchanged == {
        "both": [True] * 8 + [False] * 5,
        "left-to-right": [True] * 10 + [False] * 3,
        "right-to-left": [True] * 8 + [False] * 3 + [True] * 2,
    }


def test_attention_under_autocast_keeps_the_input_precision() -> None:
    batch = batch_of((2, 3, 3, 5), Dropout(3, 1, 0))
    qkv = drawn(batch, 2, 8, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert attend(qkv.bfloat16(), batch, rate=0.1, site="site").dtype == torch.bfloat16
        half = attend(qkv, batch, rate=0.1, site="site")
    torch.testing.assert_close(half, explicit(qkv, batch, 0.1, "site").flatten(1), rtol=0, atol=0)


def test_evaluation_drops_nothing_whatever_the_rate() -> None:
    batch = batch_of((2, 3, 3, 5))
    qkv = drawn(batch, 2, 8, torch.float32).detach()
    assert torch.equal(attend(qkv, batch, rate=0.5, site="site"), grouped(qkv, batch, 0.0, "site").flatten(1))


def test_the_implementation_is_looked_up_and_never_guessed() -> None:
    cuda, half, single = torch.device("cuda"), torch.bfloat16, torch.float32
    assert implementation(CPU, single, 64, dropping=False) is grouped
    assert implementation(CPU, half, 64, dropping=False) is grouped
    assert implementation(CPU, half, 64, dropping=False, learning=True) is explicit
    assert implementation(cuda, half, 64, dropping=False, learning=True) is varlen
    assert implementation(cuda, half, 64, dropping=False) is varlen
    assert implementation(cuda, torch.float16, 256, dropping=False) is varlen
    assert implementation(cuda, half, 36, dropping=False) is grouped
    assert implementation(cuda, half, 264, dropping=False) is grouped
    assert implementation(cuda, single, 64, dropping=False) is grouped
    assert implementation(cuda, half, 64, dropping=False, direction="left-to-right") is varlen
    assert implementation(cuda, half, 64, dropping=False, direction="right-to-left") is grouped
    assert implementation(CPU, single, 64, dropping=False, window=2) is grouped
    assert implementation(cuda, half, 64, dropping=False, window=2) in (varlen, grouped)
    for device, dtype in ((CPU, single), (cuda, half)):
        assert implementation(device, dtype, 64, dropping=True) is explicit


def windows(window_size: tuple[int, int] = (-1, -1)) -> None:
    """Has the argument's name in current versions of torch."""


def causal(is_causal: bool = False) -> None:
    """Has the argument's name in torch 2.10."""


def test_direction_and_window_match_the_varlen_kernel() -> None:
    assert _restriction(windows, "both", None) == {}
    assert _restriction(windows, "left-to-right", None) == {"window_size": (-1, 0)}
    assert _restriction(windows, "left-to-right", 5) == {"window_size": (5, 0)}
    assert _restriction(windows, "both", 5) == {"window_size": (5, 5)}
    assert _restriction(causal, "left-to-right", None) == {"is_causal": True}
    arguments = _restriction(varlen_attn, "left-to-right", None)
    assert arguments.keys() <= inspect.signature(varlen_attn).parameters.keys()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the variable-length kernel needs a CUDA device")
@pytest.mark.parametrize("direction", ["both", "left-to-right"])
@pytest.mark.parametrize("window", [None, 3])
def test_the_variable_length_kernel_is_near_the_grouped_one(direction: Direction, window: int | None) -> None:
    device = torch.device("cuda")
    batch = batch_of((4, 9, 4, 1, 9, 12), device=device)
    for size in (8, 64, 96):
        qkv = drawn(batch_of((4, 9, 4, 1, 9, 12)), 2, size, torch.float32).detach().to(device, torch.bfloat16)
        expected = grouped(qkv.float(), batch, 0.0, "site", direction, window)
        output = varlen(qkv, batch, 0.0, "site", direction, window).float()
        torch.testing.assert_close(output, expected, rtol=2e-2, atol=2e-2)
