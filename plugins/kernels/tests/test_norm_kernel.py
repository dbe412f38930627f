"""The kernel of norm(residual + dropout(x)): it agrees with double precision, forward and backward."""

import random

import pytest
import torch
from kernel_samples import kernels, needs_library, numbers
from torch import nn

from benchrunner.runs.core_shares import torch_threads

pytestmark = needs_library


def drawn_mask(rows: int, width: int, rate: float, seed: int) -> torch.Tensor:
    """Find out which elements are kept, scaled: the gradient of x is that of the residual times the mask."""
    norm = nn.LayerNorm(width)
    x, residual = (numbers(rows, width, seed=number).requires_grad_() for number in (1, 2))
    y = kernels().add_and_norm(x, residual, norm, rate, seed)
    assert y is not None
    y.backward(numbers(rows, width, seed=3))
    assert x.grad is not None and residual.grad is not None
    return (x.grad / residual.grad).double()


def check(rows: int, width: int, *, rate: float = 0.0, kind: torch.dtype = torch.float32, seed: int = 0) -> None:
    """Compare the output and all gradients with double precision."""
    norm, exact_norm = nn.LayerNorm(width), nn.LayerNorm(width, dtype=torch.float64)
    nn.init.normal_(norm.weight, generator=torch.Generator().manual_seed(seed))
    nn.init.normal_(norm.bias, generator=torch.Generator().manual_seed(seed + 1))
    exact_norm.load_state_dict(norm.state_dict())
    x = numbers(rows, width, seed=seed).to(kind).requires_grad_()
    residual = numbers(rows, width, seed=seed + 2).requires_grad_()
    exact_x, exact_residual = (tensor.detach().double().requires_grad_() for tensor in (x, residual))
    mask = drawn_mask(rows, width, rate, seed) if rate else 1.0
    y = kernels().add_and_norm(x, residual, norm, rate, seed)
    assert y is not None and y.dtype == torch.float32
    expected = exact_norm(exact_residual + exact_x * mask)
    outer = numbers(rows, width, seed=seed + 3)
    y.backward(outer)
    expected.backward(outer.double())
    assert x.grad is not None and x.grad.dtype == kind
    # Rounding counts more the closer together the numbers of a row are, since the norm divides by their deviation.
    deviations = (exact_residual + exact_x * mask).detach().var(1, correction=0).add(exact_norm.eps).sqrt()
    closest = float(deviations.min().clamp(max=1))
    pairs = [
        (y, expected, 1e-4),
        (x.grad, exact_x.grad, 1e-4 if kind == torch.float32 else 1e-2),
        (residual.grad, exact_residual.grad, 1e-4),
        (norm.weight.grad, exact_norm.weight.grad, 1e-4),
        (norm.bias.grad, exact_norm.bias.grad, 1e-4),
    ]
    for ours, theirs, tolerance in pairs:
        assert ours is not None and theirs is not None
        assert (ours.double() - theirs).abs().max() <= tolerance / closest * theirs.abs().max().clamp(min=1)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("width", [2, 8, 15, 16, 33, 384, 768])
@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_the_norm_of_a_sum_agrees_with_double_precision(width: int, kind: torch.dtype, rate: float) -> None:
    check(70, width, rate=rate, kind=kind)


@pytest.mark.slow
def test_random_shapes_of_norms_agree_with_double_precision() -> None:
    draw = random.Random(0)
    for seed in range(3_000):
        check(draw.randint(1, 80), draw.randint(2, 90), rate=draw.choice((0.0, 0.3)), seed=seed)


def test_norms_in_several_threads_have_equal_bits() -> None:
    results = []
    for count in (1, 2, 4):
        norm = nn.LayerNorm(384)
        x, residual = (numbers(333, 384, seed=number).requires_grad_() for number in (0, 1))
        with torch_threads(count):
            y = kernels().add_and_norm(x, residual, norm, 0.1, 3)
            assert y is not None
            y.square().sum().backward()
        results.append([y, x.grad, residual.grad, norm.weight.grad, norm.bias.grad])
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            assert one is not None and other is not None and torch.equal(one, other)


def test_norms_drop_their_rate_and_scale_the_rest() -> None:
    mask = drawn_mask(400, 96, 0.25, 9)
    dropped = mask == 0
    assert abs(float(dropped.double().mean()) - 0.25) < 4 * (0.1875 / mask.numel()) ** 0.5
    torch.testing.assert_close(mask[~dropped], torch.full_like(mask[~dropped], 4 / 3))
    assert not torch.equal(dropped, drawn_mask(400, 96, 0.25, 10) == 0)


def test_predictions_keep_no_gradient_and_equal_training() -> None:
    x, residual, norm = numbers(9, 16), numbers(9, 16, seed=1), nn.LayerNorm(16)
    learned = kernels().add_and_norm(x, residual, norm, 0.0, 0)
    with torch.inference_mode():
        predicted = kernels().add_and_norm(x, residual, norm, 0.0, 0)
    assert learned is not None and predicted is not None
    assert torch.equal(learned, predicted) and not predicted.requires_grad


def test_norms_that_the_kernel_cannot_compute_are_left_to_torch() -> None:
    x, residual = numbers(4, 8), numbers(4, 8)
    assert kernels().add_and_norm(x, residual, nn.LayerNorm(8, bias=False), 0.0, 0) is None
    assert kernels().add_and_norm(x, residual.bfloat16(), nn.LayerNorm(8), 0.0, 0) is None
    assert kernels().add_and_norm(x.double(), residual.double(), nn.LayerNorm(8).double(), 0.0, 0) is None
