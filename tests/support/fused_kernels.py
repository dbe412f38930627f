"""CPU implementations of torch's fused attention kernels for CUDA, written with plain operators, one sequence a time.

Inside `installed`, torch's own operators compute on CPU tensors, so that code which calls them runs without a GPU, and
torch checks every argument against the operators' declarations. The mask of dropout comes from a number that the
forward operator draws from torch's generator and returns in place of CUDA's random state.
"""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch


def masked(length: int, before: int, after: int) -> torch.Tensor:
    """Tell which tokens each token sees: bool (length, length). -1 stands for all tokens of a side."""
    place = torch.arange(length)
    distance = place[None, :] - place[:, None]
    return (distance <= (length if after < 0 else after)) & (-distance <= (length if before < 0 else before))


def keep(seed: torch.Tensor, sequence: int, heads: int, length: int, rate: float) -> torch.Tensor:
    """Draw the scaled mask of a sequence from the state that the forward operator returned."""
    source = torch.Generator().manual_seed(int(seed.flatten()[0]) + sequence)
    return (torch.rand(heads, length, length, generator=source, dtype=torch.float64) >= rate) / (1 - rate)


def attention(
    parts: tuple[torch.Tensor, ...],
    starts: torch.Tensor,
    longest: int,
    rate: float,
    seed: torch.Tensor,
    *,
    before: int,
    after: int,
) -> torch.Tensor:
    """Compute attention over (T, heads, size) in double precision; tokens outside of all sequences become NaN."""
    query, key, value = (part.double().transpose(0, 1) for part in parts)
    output = torch.full_like(query, torch.nan)
    for number, (start, stop) in enumerate(itertools.pairwise(starts.tolist())):
        length = stop - start
        assert length <= longest, "CUDA's kernels would leave out the end of a sequence above the maximum"
        scores = query[:, start:stop] @ key[:, start:stop].transpose(1, 2) / query.shape[-1] ** 0.5
        scores = scores.masked_fill(~masked(length, before, after), -torch.inf)
        weights = scores.softmax(-1) * keep(seed, number, len(query), length, rate)
        output = output.index_copy(1, torch.arange(start, stop), weights @ value[:, start:stop])
    return output.transpose(0, 1)


def gradients(
    gradient: torch.Tensor, parts: tuple[torch.Tensor, ...], *places: Any, before: int, after: int
) -> list[torch.Tensor]:
    """Differentiate `attention` by query, key and value, in a thread: autograd is off inside an operator."""

    def differentiate() -> tuple[torch.Tensor, ...]:
        leaves = tuple(part.detach().double().requires_grad_() for part in parts)
        states = attention(leaves, *places, before=before, after=after)
        return torch.autograd.grad(states, leaves, gradient.double())

    with ThreadPoolExecutor(1) as pool:
        return [part.to(gradient.dtype) for part in pool.submit(differentiate).result()]


def flash_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    starts: torch.Tensor,
    same: torch.Tensor,
    longest: int,
    longest_key: int,
    rate: float,
    causal: bool,
    debug: bool,
    *,
    window_size_left: int,
    window_size_right: int,
    **unused: object,
) -> tuple[torch.Tensor, ...]:
    assert starts is same and longest == longest_key and not debug
    assert causal == ((window_size_left, window_size_right) == (-1, 0))
    seed = torch.randint(2**40, (2,))
    states = attention(
        (query, key, value), starts, longest, rate, seed, before=window_size_left, after=window_size_right
    )
    return states.to(query.dtype), query.new_zeros(1), seed, seed.clone(), query.new_empty(0)


def flash_backward(
    gradient: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    output: torch.Tensor,
    logsumexp: torch.Tensor,
    starts: torch.Tensor,
    same: torch.Tensor,
    longest: int,
    longest_key: int,
    rate: float,
    causal: bool,
    seed: torch.Tensor,
    unused: torch.Tensor,
    *,
    window_size_left: int,
    window_size_right: int,
    **unnamed: object,
) -> tuple[torch.Tensor, ...]:
    assert torch.are_deterministic_algorithms_enabled() and not torch.utils.deterministic.fill_uninitialized_memory
    assert causal == ((window_size_left, window_size_right) == (-1, 0))
    places = (query, key, value), starts, longest, rate, seed
    return tuple(gradients(gradient, *places, before=window_size_left, after=window_size_right))


def efficient_forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: None,
    starts: torch.Tensor,
    same: torch.Tensor,
    longest: int,
    longest_key: int,
    rate: float,
    mask: int,
    compute_log_sumexp: bool = False,
    **unused: object,
) -> tuple[Any, ...]:
    assert bias is None and compute_log_sumexp and mask in (0, 1) and longest == longest_key
    assert starts.dtype == torch.int32 and starts.is_contiguous() and len(query) == 1
    seed = torch.randint(2**40, ())
    parts = (query[0], key[0], value[0])
    states = attention(parts, starts, longest, rate, seed, before=-1, after=-1 if mask == 0 else 0)
    return states[None].to(query.dtype), query.new_zeros(1), seed, seed.clone(), longest, longest


def efficient_backward(
    gradient: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: None,
    output: torch.Tensor,
    starts: torch.Tensor,
    same: torch.Tensor,
    longest: int,
    longest_key: int,
    logsumexp: torch.Tensor,
    rate: float,
    seed: torch.Tensor,
    offset: torch.Tensor,
    mask: int,
    bias_requires_grad: bool,
    *,
    num_splits_key: int,
    **unused: object,
) -> tuple[torch.Tensor, ...]:
    assert num_splits_key == 1 and not bias_requires_grad, "several splits add up in any order"
    parts = (query[0], key[0], value[0])
    found = gradients(gradient[0], parts, starts, longest, rate, seed, before=-1, after=-1 if mask == 0 else 0)
    return (*(part[None] for part in found), query.new_empty(0))


@contextmanager
def installed() -> Iterator[None]:
    """Let torch's fused attention operators compute on the CPU."""
    with torch.library._scoped_library("aten", "IMPL") as library:
        for name, function in (
            ("_flash_attention_forward", flash_forward),
            ("_flash_attention_backward", flash_backward),
            ("_efficient_attention_forward", efficient_forward),
            ("_efficient_attention_backward", efficient_backward),
        ):
            library.impl(name, function, "CPU")
        yield
