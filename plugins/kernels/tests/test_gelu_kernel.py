"""GELU's kernel: it agrees with double precision, forward and backward, at every size and for extreme numbers."""

import pytest
import torch
from kernel_samples import kernels, needs_library, numbers

from benchrunner.runs.core_shares import torch_threads

pytestmark = needs_library


def check(count: int, *, seed: int = 0) -> None:
    """Compare the outputs and the gradient for so many numbers with double precision."""
    x = numbers(count, seed=seed).mul(3).requires_grad_()
    exact = x.detach().double().requires_grad_()
    y = kernels().gelu(x)
    assert y is not None
    outer = numbers(count, seed=seed + 1)
    y.backward(outer)
    expected = exact * (1 + torch.erf(exact / 2**0.5)) / 2
    expected.backward(outer.double())
    assert x.grad is not None and exact.grad is not None
    torch.testing.assert_close(y.double(), expected, atol=5e-7, rtol=0)
    torch.testing.assert_close(x.grad.double(), exact.grad, atol=2e-6, rtol=0)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 33, 2**14 - 1, 2**14 + 1, 50_000])
def test_gelu_agrees_with_double_precision(count: int) -> None:
    check(count)


def test_the_gradient_of_gelu_is_its_slope() -> None:
    x = torch.linspace(-6, 6, 101)
    step = 1e-2
    below, above = kernels().gelu(x - step), kernels().gelu(x + step)
    learned = x.clone().requires_grad_()
    y = kernels().gelu(learned)
    assert y is not None and below is not None and above is not None
    y.sum().backward()
    assert learned.grad is not None
    torch.testing.assert_close((above - below) / (2 * step), learned.grad, atol=1e-3, rtol=0)


def test_small_results_of_negative_numbers_are_exact() -> None:
    x = -torch.linspace(2, 9, 500)
    y = kernels().gelu(x)
    assert y is not None
    expected = x.double() * torch.special.erfc(-x.double() / 2**0.5) / 2
    torch.testing.assert_close(y.double(), expected, atol=0, rtol=1e-5)


def test_gelu_of_extreme_numbers_is_that_of_torch() -> None:
    """As torch computes it on AVX2; on AVX-512, torch 2.11 gives NaN also for 3e38 and infinity."""
    x = torch.tensor([0.0, -0.0, 100.0, -100.0, 3e38, torch.inf, torch.nan, -torch.inf])
    expected = torch.tensor([0.0, 0.0, 100.0, 0.0, 3e38, torch.inf, torch.nan, torch.nan])
    torch.testing.assert_close(kernels().gelu(x), expected, rtol=0, atol=0, equal_nan=True)


def test_gelu_in_several_threads_has_equal_bits() -> None:
    results = []
    for count in (1, 2, 4):
        with torch_threads(count):
            x = numbers(100_000).requires_grad_()
            y = kernels().gelu(x)
            assert y is not None
            y.square().sum().backward()
            results.append((y, x.grad))
    for y, gradient in results[1:]:
        assert gradient is not None and results[0][1] is not None
        assert torch.equal(y, results[0][0]) and torch.equal(gradient, results[0][1])


def test_gelu_in_predictions_equals_training_without_gradient() -> None:
    x = numbers(100)
    learned = kernels().gelu(x.clone().requires_grad_())
    with torch.inference_mode():
        predicted = kernels().gelu(x)
    assert learned is not None and predicted is not None
    assert torch.equal(learned.detach(), predicted) and not predicted.requires_grad


def test_gelu_of_other_types_is_left_to_torch() -> None:
    assert kernels().gelu(numbers(4).bfloat16()) is None
    assert kernels().gelu(numbers(4).double()) is None
