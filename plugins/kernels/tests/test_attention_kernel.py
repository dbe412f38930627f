"""Attention's kernel: it agrees with double precision, with dropout and without, forward and backward."""

import random

import pytest
import torch
from kernel_samples import BOTH, attention, drawn_masks, kernels, needs_library, numbers, starts_of

from benchrunner.runs.core_shares import torch_threads

pytestmark = needs_library
RAGGED = (1, 2, 15, 16, 17, 33, 49, 130)
SIDES = {"both": BOTH, "left": (-1, 0), "right": (0, -1), "window": (5, 5), "wide": (40, 40)}


def gap(ours: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the largest difference, as a share of the largest number."""
    largest = float(expected.detach().abs().max()) or 1.0  # all is 0 where the only token is dropped
    return float((ours.detach().double() - expected.detach()).abs().max()) / largest


def check(
    lengths: tuple[int, ...],
    heads: int,
    size: int,
    sides: tuple[int, int] = BOTH,
    *,
    rate: float = 0.0,
    kind: torch.dtype = torch.float32,
    filling: int = 0,
    seed: int = 0,
) -> None:
    """Compare the output and the gradient of one batch with double precision."""
    made, starts = kernels(), starts_of(lengths)
    tokens = sum(lengths) + filling
    qkv = numbers(tokens, 3, heads, size, seed=seed).to(kind).requires_grad_()
    exact = qkv.detach().double().requires_grad_()
    masks = drawn_masks(made, starts, heads, size, rate, seed) if rate else None
    output = made.attend(qkv, starts, sides, rate, seed)
    assert output is not None and output.dtype == kind and output.shape == (tokens, heads, size)
    expected = attention(exact, starts, sides, masks)
    outer = numbers(*output.shape, seed=seed + 1).to(kind)
    output.backward(outer)
    expected.backward(outer.double())
    assert qkv.grad is not None and exact.grad is not None
    tolerance = 1e-5 if kind == torch.float32 else 2e-2
    assert gap(output, expected) < tolerance and gap(qkv.grad, exact.grad) < tolerance


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [1, 7, 8, 16, 20, 32, 64, 80, 128])
def test_all_sizes_of_heads_agree_with_double_precision(size: int, kind: torch.dtype) -> None:
    check(RAGGED, 3, size, kind=kind)


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("name", SIDES)
def test_directions_and_windows_agree_with_double_precision(name: str, rate: float) -> None:
    check(RAGGED, 2, 32, SIDES[name], rate=rate, filling=5)


@pytest.mark.slow
def test_ten_thousand_random_shapes_agree_with_double_precision() -> None:
    draw = random.Random(0)
    for seed in range(10_000):
        lengths = tuple(sorted(draw.randint(1, draw.choice((4, 20, 70))) for _ in range(draw.randint(1, 6))))
        sides = draw.choice([*SIDES.values(), (draw.randint(0, 30), draw.randint(0, 30))])
        check(
            lengths,
            draw.randint(1, 4),
            draw.randint(1, 70),
            sides,
            rate=draw.choice((0.0, 0.0, 0.1, 0.5)),
            kind=draw.choice((torch.float32, torch.bfloat16)),
            filling=draw.randint(0, 3),
            seed=seed,
        )


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_attention_in_several_threads_has_equal_bits(kind: torch.dtype) -> None:
    starts = starts_of((40, 60, 100))
    results = []
    for count in (1, 2, 4):
        with torch_threads(count):
            qkv = numbers(200, 3, 4, 64).to(kind).requires_grad_()
            output = kernels().attend(qkv, starts, BOTH, 0.2, 7)
            assert output is not None
            output.square().sum().backward()
            results.append((output, qkv.grad))
    for output, gradient in results[1:]:
        assert gradient is not None and results[0][1] is not None
        assert torch.equal(output, results[0][0]) and torch.equal(gradient, results[0][1])


def test_tokens_after_the_last_sequence_get_zeros() -> None:
    qkv = torch.full((10, 3, 2, 8), torch.nan)
    qkv[:6] = numbers(6, 3, 2, 8)
    qkv.requires_grad_()
    output = kernels().attend(qkv, starts_of((2, 4)), BOTH, 0.0, 0)
    assert output is not None
    output.sum().backward()
    assert qkv.grad is not None
    assert not output[6:].any() and not qkv.grad[6:].any() and output[:6].isfinite().all()


def test_one_bad_number_stays_in_its_sequence_and_head() -> None:
    qkv = numbers(9, 3, 2, 8)
    qkv[1, 0, 1, 3] = torch.nan
    output = kernels().attend(qkv, starts_of((4, 5)), BOTH, 0.0, 0)
    assert output is not None
    assert output[1, 1].isnan().all() and output.isnan().sum() == 8


def test_huge_scores_give_finite_probabilities() -> None:
    qkv = numbers(40, 3, 2, 16) * 1e4
    expected = attention(qkv.double(), starts_of((40,)))
    output = kernels().attend(qkv, starts_of((40,)), BOTH, 0.0, 0)
    assert output is not None
    assert gap(output, expected) < 1e-4


def test_attention_drops_its_rate_independently() -> None:
    made, starts = kernels(), starts_of((64, 64, 128))
    masks = drawn_masks(made, starts, 8, 64, 0.1, 5)
    kept = torch.cat([mask.flatten() for mask in masks]) > 0
    count = len(kept)
    assert abs(float(kept.double().mean()) - 0.9) < 4 * (0.09 / count) ** 0.5
    square = masks[2] > 0  # (heads, 128, 128)
    neighbours = [
        (square[:, :, 1:], square[:, :, :-1]),
        (square[:, 1:], square[:, :-1]),
        (square[1:], square[:-1]),
        (masks[0] > 0, masks[1] > 0),
        (square, drawn_masks(made, starts, 8, 64, 0.1, 6)[2] > 0),
    ]
    for one, other in neighbours:
        both = float((one & other).double().mean())
        assert abs(both - 0.81) < 5 * (0.81 * 0.19 / one.numel()) ** 0.5
    assert torch.equal(square, drawn_masks(made, starts, 8, 64, 0.1, 5)[2] > 0)


def test_all_columns_are_dropped_equally_often() -> None:
    masks = drawn_masks(kernels(), starts_of((128,) * 20), 12, 64, 0.1, 1)
    kept = torch.stack(masks).gt(0).double()  # (sequences, heads, queries, keys)
    for axis in range(4):
        shares = kept.mean([other for other in range(4) if other != axis])
        samples = kept.numel() / len(shares)
        assert (shares - 0.9).abs().max() < 5 * (0.09 / samples) ** 0.5


def test_other_types_are_left_to_torch() -> None:
    assert kernels().attend(numbers(4, 3, 1, 8).double(), starts_of((4,)), BOTH, 0.0, 0) is None
