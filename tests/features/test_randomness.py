"""Random numbers depend on the seed and the place of use, and on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchrunner.features.randomness import (
    Dropout,
    NoDropout,
    derived,
    generator,
    permutation,
    torch_draws_masks,
)
from cuda_generators import CudaGenerator, default as default


def kept(dropout: Dropout, *shape: int, rate: float = 0.5, site: str = "site") -> torch.Tensor:
    """Return 1 for elements that are kept and 0 for elements that are dropped."""
    dropped = dropout(torch.ones(shape, dtype=torch.float64), rate, site)
    assert set(dropped.unique().tolist()) <= {0.0, 1 / (1 - rate)}
    return (dropped != 0).double()


def test_a_derived_seed_is_the_same_for_ever() -> None:
    assert derived(7, "order", 0) == 1596707884480976190
    assert derived(7, "order", 0) != derived(7, "order", 1) != derived(8, "order", 0)
    assert derived(1, 23) != derived(12, 3)
    assert all(0 <= derived(seed) < 2**63 for seed in range(50))


def test_a_permutation_is_complete_and_differs_between_epochs() -> None:
    first, second = (permutation(100, 3, "order", epoch) for epoch in (0, 1))
    assert sorted(first) == sorted(second) == list(range(100))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, permutation(100, 3, "order", 0))


def test_a_generator_gives_the_same_numbers_again() -> None:
    first, again, elsewhere = (torch.randn(8, generator=generator(*place)) for place in ((3, "a"), (3, "a"), (3, "b")))
    assert torch.equal(first, again) and not torch.equal(first, elsewhere)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.25, 0.5, 0.9])
def test_the_share_that_is_dropped_is_the_rate(rate: float) -> None:
    count = 1_000_003  # not a multiple of anything
    mask = kept(Dropout(11, 4, 0), count, rate=rate, site="embeddings")
    deviation = (rate * (1 - rate) / count) ** 0.5
    assert abs(1 - mask.mean().item() - rate) < 5 * deviation + 1 / 65536


def test_neighbouring_elements_are_dropped_independently() -> None:
    mask = kept(Dropout(11, 4, 0), 1_000_000, rate=0.1)
    for apart in (1, 2, 3, 4, 8):
        together = (mask[apart:] * mask[:-apart]).mean().item()
        assert abs(together - 0.81) < 0.002


def test_a_dropout_mask_is_determined_by_seed_step_part_and_site() -> None:
    def mask(seed: int, step: int, part: int, site: str) -> torch.Tensor:
        return kept(Dropout(seed, step, part), 64, 64, site=site)

    here = mask(1, 2, 3, "layer 0 output")
    assert torch.equal(here, mask(1, 2, 3, "layer 0 output"))
    elsewhere = [(2, 2, 3, "layer 0 output"), (1, 3, 3, "layer 0 output"), (1, 2, 0, "layer 0 output")]
    for place in [*elsewhere, (1, 2, 3, "layer 1 output"), (1, 2, 3, "head")]:
        agreement = (here == mask(*place)).double().mean().item()
        assert 0.45 < agreement < 0.55, place


def test_drawing_leaves_the_global_generators_alone() -> None:
    torch.manual_seed(1)
    np.random.seed(1)
    before = torch.get_rng_state()
    kept(Dropout(1, 2), 1000)
    permutation(10, 1)
    generator(1, "x")
    assert torch.equal(before, torch.get_rng_state())
    assert np.random.random() == np.random.RandomState(1).random_sample()


def test_dropout_zeroes_and_scales_and_so_does_its_gradient() -> None:
    x = torch.full((200, 50), 2.0, requires_grad=True)
    dropped = Dropout(1, 0)(x, 0.2, "site")
    mask = kept(Dropout(1, 0), 200, 50, rate=0.2).float()
    assert torch.equal(dropped, 2.0 * mask / 0.8)
    dropped.backward(torch.full_like(dropped, 3.0))
    torch.testing.assert_close(x.grad, 3.0 * mask / 0.8)


def test_a_rate_of_zero_and_an_evaluation_drop_nothing() -> None:
    x = torch.randn(5, 5)
    assert Dropout(1, 0)(x, 0.0, "site") is x
    assert NoDropout()(x, 0.5, "site") is x


@pytest.mark.parametrize("rate", [1e-9, 0.9999999])
def test_the_ends_of_the_range_of_rates_are_rates_too(rate: float) -> None:
    mask = kept(Dropout(1, 0), 1000, rate=rate)
    assert abs(1 - mask.mean().item() - rate) < 0.01


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (2, 3, 5)])
def test_a_mask_has_the_shape_asked_for(shape: tuple[int, ...]) -> None:
    assert kept(Dropout(1, 0), *shape).shape == shape


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_same_elements_are_dropped_in_every_precision(dtype: torch.dtype) -> None:
    x = torch.ones(1000, dtype=dtype, requires_grad=True)
    dropped = Dropout(1, 0)(x, 0.1, "site")
    assert dropped.dtype == dtype
    assert torch.equal((dropped != 0).double(), kept(Dropout(1, 0), 1000, rate=0.1))
    dropped.sum().backward()
    assert x.grad is not None and torch.equal(x.grad, dropped.detach())


def test_a_site_computed_again_draws_the_same_on_cuda(default: CudaGenerator) -> None:
    device = CudaGenerator.device

    def draw(dropout: Dropout, site: str, count: int = 4) -> tuple[int, int]:
        with dropout.drawing(site, device):
            return default.draw(count)

    dropout = Dropout(1, 2, 0)
    sites = ["embeddings", "layer 0", "layer 1"]
    first = [draw(dropout, site) for site in sites]
    assert first == [draw(Dropout(1, 2, 0), site) for site in sites[:1]] + first[1:]
    assert [draw(dropout, site) for site in reversed(sites)] == first[::-1]
    assert draw(dropout, "head") not in first, "a site that comes later has numbers of its own"
    assert draw(Dropout(1, 3, 0), "embeddings") != first[0]


def test_sites_inside_a_site_leave_no_gap_in_its_numbers_on_cuda(default: CudaGenerator) -> None:
    """Models of transformers draw in the place of the whole model, and our attention in sites inside of it.

    A layer computed again has the default generator's numbers from torch's checkpoint, and those of the inner sites
    from their own stream.
    """

    def draw(dropout: Dropout) -> list[tuple[int, int]]:
        with dropout.drawing("flat", CudaGenerator.device, alone=True):
            before = default.draw(4)
            with dropout.drawing("attention", CudaGenerator.device):
                inside = default.draw(12)
            return [before, inside, default.draw(4)]

    dropout = Dropout(1, 2, 0)
    before, inside, after = draw(dropout)
    assert after == (before[0], before[1] + 4) and inside[0] != before[0]
    assert draw(dropout) == draw(Dropout(1, 2, 0)) == [before, inside, after]


def test_an_error_in_a_site_gives_the_default_generator_back(default: CudaGenerator) -> None:
    with pytest.raises(RuntimeError, match="out of memory"), Dropout(1).drawing("site", CudaGenerator.device):
        raise RuntimeError("out of memory")


def test_a_dropout_on_an_accelerator_is_one_operator() -> None:
    x = torch.empty(8, 4, device="meta", requires_grad=True)
    with torch.profiler.profile() as profile:
        Dropout(1, 0)(x, 0.1, "site")
    names = [event.key for event in profile.key_averages()]
    assert names.count("aten::native_dropout") == 1
    assert torch_draws_masks(x.device) and not torch_draws_masks(torch.device("cpu"))
    assert Dropout(1, 0).mask((3, 4), 0.1, "site", x).shape == (3, 4)


def test_a_generator_is_no_seed() -> None:
    with pytest.raises(TypeError, match="not a Generator"):
        permutation(3, generator(1))  # type: ignore[arg-type]
