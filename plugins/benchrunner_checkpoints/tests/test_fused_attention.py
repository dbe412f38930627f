"""Attention by torch's fused CUDA kernels, with CPU implementations of the kernels in their place."""

from collections.abc import Callable, Iterator
from typing import get_args

import pytest
import torch

from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.randomness import Dropout
from benchrunner_checkpoints.attention import attention
from benchrunner_checkpoints.attention.attention import Kernel, attend, explicit, grouped, implementation
from benchrunner_checkpoints.attention.fused_attention import AttentionLayer, Direction, efficient, flash
from flat_batches import batch_of, drawn
from fused_kernels import installed

CPU, CUDA, META = torch.device("cpu"), torch.device("cuda"), torch.device("meta")
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
LENGTHS = [(1,), (5, 5), (1, 2, 7, 2, 1), (4, 9, 4, 1, 9, 12)]


@pytest.fixture(autouse=True)
def kernels() -> Iterator[None]:
    with installed():
        yield


def check(kernel: Kernel, batch: FlatBatch, direction: Direction, window: int | None) -> None:
    """Compare a fused kernel's output and gradient with those of the CPU's kernel, both without dropout."""
    qkv = drawn(batch, 2, 8, torch.float64)
    weight = torch.linspace(-1, 1, batch.real * 16, dtype=torch.float64).view(batch.real, 2, 8)
    results = []
    for function in (kernel, explicit):
        output = function(qkv, batch, AttentionLayer(0.0, "site", direction, window))[: batch.real]
        results.append((output, *torch.autograd.grad((output * weight).sum(), qkv)))
    for fused, expected in zip(*results, strict=True):
        torch.testing.assert_close(fused, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("multiple", [1, 16])
def test_fused_kernels_compute_what_a_cpu_does(lengths: tuple[int, ...], direction: Direction, multiple: int) -> None:
    for kernel in (flash, efficient):
        check(kernel, batch_of(lengths, Dropout(3, 1, 0), multiple=multiple), direction, None)


@pytest.mark.parametrize("window", [0, 1, 3, 100])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_flash_attention_hides_tokens_outside_of_the_window(window: int, direction: Direction) -> None:
    check(flash, batch_of((4, 9, 4, 1, 9, 12), multiple=16), direction, window)


@pytest.mark.parametrize("kernel", [flash, efficient])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_gradient_has_the_mask_of_the_output(kernel: Kernel, direction: Direction) -> None:
    """Differences of outputs with the same random numbers give the gradient that the backward operator gives."""
    batch = batch_of((1, 3, 2, 3), Dropout(5, 0, 0), multiple=4)
    qkv = drawn(batch, 2, 3, torch.float64)

    def output(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(7)
        return kernel(x, batch, AttentionLayer(0.3, "site", direction))

    assert torch.autograd.gradcheck(output, (qkv,), fast_mode=True)
    assert not torch.allclose(output(qkv), kernel(qkv, batch, AttentionLayer(0.0, "site", direction)))


@pytest.mark.parametrize("kernel", [flash, efficient])
def test_the_rows_of_the_filling_are_finite_numbers(kernel: Kernel) -> None:
    """Weights' gradients are sums over all rows, in which a NaN times zero would be a NaN."""
    batch = batch_of((2, 3), Dropout(3, 1, 0), multiple=64)
    qkv = drawn(batch, 2, 8, torch.float64)
    output = kernel(qkv, batch, AttentionLayer(0.1, "site"))
    (gradient,) = torch.autograd.grad(output[: batch.real].sum(), qkv)
    assert len(output) == 64 and output.isfinite().all() and gradient.isfinite().all()
    assert not gradient[batch.real :].any()


def test_evaluation_gives_the_kernels_no_dropout() -> None:
    batch = batch_of((2, 3, 3, 5))
    with torch.inference_mode():
        qkv = drawn(batch, 2, 8, torch.float64).detach()
        for kernel in (flash, efficient):
            torch.testing.assert_close(
                kernel(qkv, batch, AttentionLayer(0.5, "site")), grouped(qkv, batch, AttentionLayer(0.0, "site"))
            )


def test_the_deterministic_setting_is_set_back() -> None:
    batch = batch_of((2, 3))
    qkv = drawn(batch, 2, 8, torch.float64)
    flash(qkv, batch, AttentionLayer(0.0, "site")).sum().backward()
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.utils.deterministic.fill_uninitialized_memory


def test_a_direction_and_a_window_become_two_sides() -> None:
    expected = {"both": (-1, -1, 5, 5), "left-to-right": (-1, 0, 5, 0)}
    for direction in DIRECTIONS:
        whole, narrow = (AttentionLayer(0.0, "site", direction, window).sides for window in (None, 5))
        assert (*whole, *narrow) == expected[direction]


@pytest.mark.parametrize(
    ("capability", "dtype", "size", "window", "expected"),
    [
        ((9, 0), torch.bfloat16, 64, None, flash),
        ((8, 0), torch.bfloat16, 192, 3, flash),
        ((8, 0), torch.bfloat16, 200, None, None),
        ((8, 0), torch.float32, 256, None, efficient),
        ((8, 0), torch.float16, 64, None, flash),
        ((8, 0), torch.float32, 64, None, efficient),
        ((8, 0), torch.float32, 64, 3, None),
        ((8, 0), torch.float32, 36, None, efficient),
        ((8, 0), torch.float32, 35, None, None),
        ((8, 0), torch.bfloat16, 36, None, None),
        ((8, 0), torch.bfloat16, 264, None, None),
        ((7, 5), torch.bfloat16, 64, None, None),
        ((7, 5), torch.float16, 64, None, efficient),
        ((7, 0), torch.float32, 64, None, efficient),
        ((9, 0), torch.float64, 64, None, None),
        (None, torch.float32, 64, None, None),
    ],
)
def test_the_kernel_is_looked_up_by_capability(
    capability: tuple[int, int] | None,
    dtype: torch.dtype,
    size: int,
    window: int | None,
    expected: Kernel | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attention, "capability", lambda device: capability)
    choose: Callable[..., Kernel] = implementation
    for dropping in (False, True):
        kernel = choose(CUDA, dtype, size, dropping=dropping, window=window)
        assert kernel is (expected or (explicit if dropping else grouped))


def test_the_cpu_never_uses_a_fused_kernel() -> None:
    for dtype in (torch.float32, torch.bfloat16):
        assert implementation(CPU, dtype, 64, dropping=True) is explicit
        assert implementation(CPU, dtype, 64, dropping=False) is grouped
    assert implementation(META, torch.bfloat16, 64, dropping=True) is flash


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_torch_declares_the_shapes_that_we_expect(dtype: torch.dtype, direction: Direction) -> None:
    batch = batch_of((2, 3, 3, 5), Dropout(3, 1, 0), multiple=16, device=META)
    qkv = torch.empty(16, 3, 2, 8, dtype=dtype, device=META, requires_grad=True)
    context = attend(qkv, batch, rate=0.1, site="site", direction=direction)
    assert (context.shape, context.dtype) == ((16, 16), dtype)
    (gradient,) = torch.autograd.grad(context.sum(), qkv)
    assert (gradient.shape, gradient.dtype) == (qkv.shape, dtype)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the fused kernels need a CUDA device")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_cuda_computes_what_the_cpu_computes(dtype: torch.dtype, direction: Direction) -> None:
    results, tolerance = [], 3e-2 if dtype == torch.bfloat16 else 1e-4
    for device in (CPU, torch.device("cuda", 0)):
        batch = batch_of((4, 9, 4, 1, 9, 200), Dropout(3, 1, 0), multiple=64, device=device)
        qkv = drawn(batch_of((4, 9, 4, 1, 9, 200), multiple=64), 2, 64, torch.float32).detach()
        qkv = qkv.to(device, dtype).requires_grad_()
        output = attend(qkv, batch, rate=0.0, site="site", direction=direction)[: batch.real]
        gradients = [torch.autograd.grad(output.float().pow(2).sum(), qkv, retain_graph=True)[0] for _ in range(2)]
        assert torch.equal(*gradients)
        results.append((output.cpu(), gradients[0].cpu()))
    for expected, fused in zip(*results, strict=True):
        torch.testing.assert_close(fused, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the fused kernels need a CUDA device")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_site_computed_again_drops_the_same_on_a_real_gpu(dtype: torch.dtype) -> None:
    device, before = torch.device("cuda", 0), torch.cuda.get_rng_state()
    batch = batch_of((4, 9, 4, 1, 9, 200), Dropout(3, 1, 0), device=device)
    qkv = torch.randn(len(batch.tokens), 3, 2, 64, dtype=dtype, device="cpu").to(device)
    first, other, again = (attend(qkv, batch, rate=0.5, site=site) for site in ("a", "b", "a"))
    assert torch.equal(first, again) and not torch.equal(first, other)
    renewed = batch_of((4, 9, 4, 1, 9, 200), Dropout(3, 1, 0), device=device)
    assert torch.equal(first, attend(qkv, renewed, rate=0.5, site="a"))
    assert torch.equal(before, torch.cuda.get_rng_state())
