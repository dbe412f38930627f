"""Attention whose scores depend on distances: the kernel agrees with double precision, forward and backward."""

import random

import pytest
import torch
from kernel_samples import attention, drawn_masks, kernels, needs_library, numbers, starts_of

from benchrunner.runs.core_shares import torch_threads

pytestmark = needs_library
RAGGED = (1, 2, 15, 16, 17, 33, 49, 130)
SCALE = 0.15


def check(
    lengths: tuple[int, ...],
    heads: int,
    size: int,
    terms: str = "keys and queries",
    *,
    rate: float = 0.0,
    kind: torch.dtype = torch.float32,
    further: int = 0,
    seed: int = 0,
) -> None:
    """Compare the output and all gradients with double precision; tables have distances of `further` more tokens."""
    made, starts = kernels(), starts_of(lengths)
    longest = max(lengths) + further
    tokens = sum(lengths) + 2
    inputs = [numbers(tokens, 3, heads, size, seed=seed).to(kind)]
    for number, name in enumerate(("keys", "queries"), start=1):
        table = numbers(2 * longest - 1, heads, size, seed=seed + number).to(kind)
        inputs.append(table if name in terms else table[:0])
    inputs = [tensor.requires_grad_() for tensor in inputs]
    exact = [tensor.detach().double().requires_grad_() for tensor in inputs]
    tables = [table if len(table) else None for table in inputs[1:]]
    of_keys, of_queries = (table if len(table) else None for table in exact[1:])
    masks = drawn_masks(made, starts, heads, size, rate, seed) if rate else None
    output = made.attend_by_distance(inputs[0], starts, tables[0], tables[1], SCALE, rate, seed)
    assert output is not None and output.dtype == kind
    expected = attention(exact[0], starts, masks=masks, of_keys=of_keys, of_queries=of_queries, scale=SCALE)
    outer = numbers(*output.shape, seed=seed + 3).to(kind)
    output.backward(outer)
    expected.backward(outer.double())
    tolerance = 2e-5 if kind == torch.float32 else 3e-2
    pairs = [
        (output.detach(), expected.detach()),
        *((ours.grad, theirs.grad) for ours, theirs in zip(inputs, exact, strict=True)),
    ]
    for ours, theirs in pairs:
        if theirs is not None:
            assert ours is not None
            largest = max(1.0, float(theirs.abs().max()))
            assert float((ours.double() - theirs).abs().max()) < tolerance * largest


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("size", [1, 7, 8, 20, 64])
def test_scores_of_distances_agree_with_double_precision(size: int, kind: torch.dtype) -> None:
    check(RAGGED, 3, size, kind=kind)


@pytest.mark.parametrize("terms", ["keys", "queries", "keys and queries", "none"])
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_each_term_of_distances_can_be_left_out(terms: str, rate: float) -> None:
    check((3, 48, 49, 97), 2, 12, terms, rate=rate, further=7)


@pytest.mark.slow
def test_random_shapes_of_distances_agree_with_double_precision() -> None:
    draw = random.Random(0)
    for seed in range(2_000):
        check(
            tuple(draw.randint(1, draw.choice((4, 20, 70))) for _ in range(draw.randint(1, 5))),
            draw.randint(1, 4),
            draw.randint(1, 70),
            draw.choice(("keys", "queries", "keys and queries")),
            rate=draw.choice((0.0, 0.0, 0.2)),
            kind=draw.choice((torch.float32, torch.bfloat16)),
            further=draw.randint(0, 3),
            seed=seed,
        )


def test_the_gradient_of_a_table_is_a_finite_difference() -> None:
    starts, qkv = starts_of((4, 9)), numbers(13, 3, 2, 8)
    of_keys, of_queries = numbers(2, 17, 2, 8, seed=1).unbind()
    tables = [of_keys.clone().requires_grad_(), of_queries.clone().requires_grad_()]
    output = kernels().attend_by_distance(qkv, starts, tables[0], tables[1], SCALE, 0.0, 0)
    assert output is not None
    output.square().sum().backward()
    direction, step = numbers(17, 2, 8, seed=2), 1e-2
    for number in (0, 1):
        sums = []
        for sign in (1, -1):
            moved = [of_keys, of_queries]
            moved[number] = moved[number] + sign * step * direction
            changed = kernels().attend_by_distance(qkv, starts, moved[0], moved[1], SCALE, 0.0, 0)
            assert changed is not None
            sums.append(float(changed.double().square().sum()))
        gradient = tables[number].grad
        assert gradient is not None
        assert (sums[0] - sums[1]) / (2 * step) == pytest.approx(
            float((gradient * direction).sum()), rel=1e-2, abs=1e-2
        )


def test_distances_in_several_threads_have_equal_bits() -> None:
    starts, results = starts_of((40, 60, 100)), []
    for count in (1, 2, 4):
        inputs = [numbers(200, 3, 4, 32), numbers(199, 4, 32, seed=1), numbers(199, 4, 32, seed=2)]
        inputs = [tensor.requires_grad_() for tensor in inputs]
        with torch_threads(count):
            output = kernels().attend_by_distance(inputs[0], starts, inputs[1], inputs[2], SCALE, 0.2, 7)
            assert output is not None
            output.square().sum().backward()
        results.append([output, *(tensor.grad for tensor in inputs)])
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            assert one is not None and other is not None and torch.equal(one, other)
