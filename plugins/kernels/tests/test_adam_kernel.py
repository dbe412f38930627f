"""AdamW over a weight with a copy in bf16, against double precision, and the norm of gradients."""

import math

import pytest
import torch
from kernel_samples import kernels, needs_library, numbers

pytestmark = needs_library
KINDS = [torch.float32, torch.bfloat16]
NUMBERS = {"lr": 0.01, "beta1": 0.9, "beta2": 0.999, "eps": 1e-6, "weight_decay": 0.1}


def check(count: int, kind: torch.dtype) -> None:
    """Compare three steps with those in double precision."""
    weight, mean, square = numbers(count), torch.zeros(count), torch.zeros(count)
    expected, m, v = weight.double(), mean.double(), square.double()
    copy = torch.full((count,), math.nan, dtype=torch.bfloat16)
    for step in (1, 2, 3):
        gradient = numbers(count, seed=step).to(kind)
        kernels().adamw(weight, gradient, mean, square, copy, step=step, divisor=1.5, **NUMBERS)
        slope = gradient.double() / 1.5
        m = NUMBERS["beta1"] * m + (1 - NUMBERS["beta1"]) * slope
        v = NUMBERS["beta2"] * v + (1 - NUMBERS["beta2"]) * slope * slope
        change = (m / (1 - NUMBERS["beta1"] ** step)) / ((v / (1 - NUMBERS["beta2"] ** step)).sqrt() + NUMBERS["eps"])
        expected = expected - NUMBERS["lr"] * (change + NUMBERS["weight_decay"] * expected)
    for found, right in ((weight, expected), (mean, m)):
        torch.testing.assert_close(found.double(), right, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(square.double(), v, rtol=1e-6, atol=0)
    assert torch.equal(copy, weight.bfloat16())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 7, 16, 33, 16384, 40000])
def test_adam_agrees_with_double_precision(count: int, kind: torch.dtype) -> None:
    check(count, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_adam_in_several_threads_has_equal_bits(kind: torch.dtype) -> None:
    before, results = torch.get_num_threads(), []
    for threads in (1, 2, 4):
        torch.set_num_threads(threads)
        try:
            weight, mean, square = numbers(70000), torch.zeros(70000), torch.zeros(70000)
            copy = weight.bfloat16()
            gradient = numbers(70000, seed=1).to(kind)
            kernels().adamw(weight, gradient, mean, square, copy, step=1, divisor=1.0, **NUMBERS)
            results.append((weight, mean, square, copy, kernels().norm(gradient)))
        finally:
            torch.set_num_threads(before)
    for others in results[1:]:
        assert all(map(torch.equal, results[0], others))


def test_a_gradient_that_is_not_finite_reaches_the_weight() -> None:
    """A training finds by this that it diverged."""
    weight, copy = torch.ones(20), torch.ones(20).bfloat16()
    gradient = torch.ones(20)
    gradient[3], gradient[5] = math.nan, math.inf
    kernels().adamw(weight, gradient, torch.zeros(20), torch.zeros(20), copy, step=1, divisor=1.0, **NUMBERS)
    for tensor in (weight, copy):
        assert torch.nonzero(~tensor.isfinite()).flatten().tolist() == [3, 5]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, 40, 16384, 50001])
def test_the_norm_agrees_with_double_precision(count: int, kind: torch.dtype) -> None:
    check_norm(count, kind)


def check_norm(count: int, kind: torch.dtype) -> None:
    """Compare the norm of some numbers with that in double precision."""
    x = numbers(count).to(kind)
    torch.testing.assert_close(kernels().norm(x).double(), x.double().norm(), rtol=5e-6, atol=0)
