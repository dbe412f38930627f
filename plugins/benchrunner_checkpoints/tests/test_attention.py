"""Every attention kernel against plain attention that computes one sequence and one head at a time."""

import itertools
from typing import get_args

import pytest
import torch
from torch.nn import functional

from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.randomness import Dropout
from benchrunner_checkpoints.attention.attention import attend, explicit, grouped, implementation
from benchrunner_checkpoints.attention.buckets import rows_of
from benchrunner_checkpoints.attention.fused_attention import AttentionLayer, Direction
from flat_batches import batch_of, drawn

CPU = torch.device("cpu")
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
RAGGED = [(1,), (5,), (3, 3, 3), (1, 2, 7, 2, 1), (4, 9, 4, 1, 9, 12), (60, 61, 30)]


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
    masks = masks_of(batch, heads, rate, site, qkv)
    outputs = []
    borders = batch.starts.tolist()
    for (start, stop), keeps in zip(itertools.pairwise(borders), masks, strict=True):
        length, columns = stop - start, []
        for head in range(heads):
            query, key, value = (qkv[start:stop, which, head] for which in range(3))
            scores = query @ key.T / qkv.shape[-1] ** 0.5
            reach = length if window is None else window
            ends = [at + 1 if direction == "left-to-right" else min(at + reach + 1, length) for at in range(length)]
            begins = [max(at - reach, 0) for at in range(length)]
            rows = [torch.softmax(row[b:e], -1) for row, b, e in zip(scores, begins, ends, strict=True)]
            weights = torch.stack(
                [functional.pad(row, (b, length - e)) for row, b, e in zip(rows, begins, ends, strict=True)]
            )
            columns.append((weights * keeps[head]) @ value)
        outputs.append(torch.stack(columns, 1))
    return torch.cat(outputs)


def masks_of(batch: FlatBatch, heads: int, rate: float, site: str, like: torch.Tensor) -> list[torch.Tensor]:
    """Give the dropout masks (heads, length, length) of each sequence, from the rows in which attention draws them."""
    sizes = [rows.count * heads * rows.length**2 for rows in rows_of(batch)]
    drawn = batch.dropout(like.new_ones(sum(sizes)), rate, site).split(sizes)
    masks = []
    for rows, mask in zip(rows_of(batch), drawn, strict=True):
        squares = mask.view(rows.count, heads, rows.length, rows.length)
        for number, length in enumerate(rows.bucket.lengths):
            first = number - number % rows.number
            begin = int(rows.bucket.lengths[first:number].sum())
            masks.append(squares[number // rows.number, :, begin : begin + length, begin : begin + length])
    return masks


@pytest.mark.parametrize("lengths", RAGGED)
@pytest.mark.parametrize(("heads", "size"), [(1, 1), (3, 7), (2, 64)])
@pytest.mark.parametrize("rate", [0.0, 0.5])
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
        output = kernel(qkv, batch, AttentionLayer(rate, "site", direction, window))
        torch.testing.assert_close(output, expected, rtol=1e-12, atol=1e-12)
        (gradient,) = torch.autograd.grad((output * weight).sum(), qkv)
        torch.testing.assert_close(gradient, expected_gradient, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_written_out_gradient_is_the_numerical_one(rate: float, direction: Direction) -> None:
    batch = batch_of((1, 3, 2, 3), Dropout(5, 0, 0))
    qkv = drawn(batch, 2, 3, torch.float64)
    assert torch.autograd.gradcheck(lambda x: explicit(x, batch, AttentionLayer(rate, "site", direction)), (qkv,))


@pytest.mark.parametrize("size", [5, 64])
def test_single_precision_is_near_double_precision(size: int) -> None:
    batch = batch_of((4, 9, 4, 1, 9, 12), Dropout(3, 1, 0))
    qkv = drawn(batch, 2, size, torch.float32)
    for rate, kernel in ((0.0, grouped), (0.0, explicit), (0.1, explicit)):
        expected = plain(qkv.double(), batch, rate, "site")
        torch.testing.assert_close(
            kernel(qkv, batch, AttentionLayer(rate, "site")).double(), expected, rtol=1e-5, atol=2e-6
        )


def test_a_gradient_in_another_memory_layout_gives_the_same() -> None:
    batch = batch_of((2, 3, 3), Dropout(3, 1, 0))
    qkv = drawn(batch, 2, 4, torch.float64)
    for function in (lambda x: x.permute(2, 0, 1).cumsum(0).pow(2).sum(), lambda x: x.sum()):
        (expected,) = torch.autograd.grad(function(plain(qkv, batch, 0.2, "site")), qkv)
        (gradient,) = torch.autograd.grad(function(explicit(qkv, batch, AttentionLayer(0.2, "site"))), qkv)
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
def test_a_direction_hides_later_tokens(rate: float) -> None:
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
    }


def test_attention_under_autocast_keeps_the_input_precision() -> None:
    batch = batch_of((2, 3, 3, 5), Dropout(3, 1, 0))
    qkv = drawn(batch, 2, 8, torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        assert attend(qkv.bfloat16(), batch, rate=0.1, site="site").dtype == torch.bfloat16
        half = attend(qkv, batch, rate=0.1, site="site")
    torch.testing.assert_close(half, explicit(qkv, batch, AttentionLayer(0.1, "site")).flatten(1), rtol=0, atol=0)


def test_evaluation_drops_nothing_whatever_the_rate() -> None:
    batch = batch_of((2, 3, 3, 5))
    qkv = drawn(batch, 2, 8, torch.float32).detach()
    assert torch.equal(
        attend(qkv, batch, rate=0.5, site="site"), grouped(qkv, batch, AttentionLayer(0.0, "site")).flatten(1)
    )


def test_the_implementation_is_looked_up_and_never_guessed() -> None:
    half, single = torch.bfloat16, torch.float32
    assert implementation(CPU, single, 64, dropping=False) is grouped
    assert implementation(CPU, half, 64, dropping=False) is grouped
    assert implementation(CPU, half, 64, dropping=False, learning=True) is explicit
    assert implementation(CPU, single, 64, dropping=False, window=2) is grouped
    assert implementation(CPU, single, 64, dropping=True) is explicit


def test_a_window_may_hide_the_farthest_pair_alone() -> None:
    """Of five tokens, a window of three hides the first and the last from each other, and a window of four nothing."""
    batch = batch_of((5,), Dropout(3, 1, 0))
    qkv = drawn(batch, 2, 7, torch.float32)
    outputs = {}
    for window in (None, 3, 4):
        outputs[window] = attend(qkv, batch, rate=0.0, site="site", window=window)
        expected = plain(qkv, batch, 0.0, "site", window=window).flatten(1)
        torch.testing.assert_close(outputs[window], expected)
    assert not torch.allclose(outputs[3], outputs[None]) and torch.allclose(outputs[4], outputs[None])
