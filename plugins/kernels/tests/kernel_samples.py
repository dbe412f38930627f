"""What the tests of the kernels share: the installed kernels, ragged batches, and references in double precision."""

import itertools
from dataclasses import replace
from functools import cache

import pytest
import torch

from benchrunner_kernels.compiled import FILE, CompiledKernels, checked_kernels
from benchrunner_kernels.self_test import TESTS

needs_library = pytest.mark.skipif(not FILE.is_file(), reason="there was no compiler when the plugin was installed")
BOTH = (-1, -1)


@cache
def kernels() -> CompiledKernels:
    """Return the installed kernels, also those that this processor leaves to torch because torch is faster."""
    made = checked_kernels()
    return replace(made, operators=tuple(TESTS)) if made.operators else made


def starts_of(lengths: tuple[int, ...]) -> torch.Tensor:
    """Return the borders of sequences: int32 (N + 1,)."""
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32)


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Draw numbers from the normal distribution, in fp32."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def seen(length: int, sides: tuple[int, int]) -> torch.Tensor:
    """Tell which tokens each token sees: bool (length, length)."""
    before, after = (length if side < 0 else side for side in sides)
    distance = torch.arange(length)[None] - torch.arange(length)[:, None]
    return (distance <= after) & (-distance <= before)


def attention(
    qkv: torch.Tensor,
    starts: torch.Tensor,
    sides: tuple[int, int] = BOTH,
    masks: list[torch.Tensor] | None = None,
    *,
    of_keys: torch.Tensor | None = None,
    of_queries: torch.Tensor | None = None,
    scale: float | None = None,
) -> torch.Tensor:
    """Compute attention in double precision, one sequence at a time; `masks` multiply the probabilities of each."""
    outputs = [qkv.new_zeros(0, *qkv.shape[2:])]
    for number, (start, stop) in enumerate(itertools.pairwise(starts.tolist())):
        query, key, value = qkv[start:stop].permute(1, 2, 0, 3)  # (heads, length, size)
        scores = query @ key.transpose(1, 2)
        if of_keys is not None:
            rows = of_keys[distances(stop - start, (len(of_keys) + 1) // 2)]  # (length, length, heads, size)
            scores = scores + torch.einsum("hid,ijhd->hij", query, rows)
        if of_queries is not None:
            rows = of_queries[distances(stop - start, (len(of_queries) + 1) // 2)]
            scores = scores + torch.einsum("hjd,ijhd->hij", key, rows)
        scores = scores * (qkv.shape[-1] ** -0.5 if scale is None else scale)
        probabilities = scores.masked_fill(~seen(stop - start, sides), -torch.inf).softmax(-1)
        if masks is not None:
            probabilities = probabilities * masks[number]
        outputs.append((probabilities @ value).transpose(0, 1))
    outputs.append(qkv.new_zeros(len(qkv) - int(starts[-1]), *qkv.shape[2:]))
    return torch.cat(outputs)


def drawn_masks(
    made: CompiledKernels, starts: torch.Tensor, heads: int, size: int, rate: float, seed: int
) -> list[torch.Tensor]:
    """Find out the masks that attention draws, scaled: (heads, length, length) for each sequence.

    All scores are equal, and the values pick `size` tokens at a time: the outputs are the dropped probabilities.
    """
    lengths = starts.diff().tolist()
    masks = [torch.zeros(heads, length, length, dtype=torch.float64) for length in lengths]
    for first in range(0, max(lengths, default=0), size):
        qkv = torch.zeros(int(starts[-1]), 3, heads, size)
        for start, length in zip(starts.tolist(), lengths, strict=False):
            for token in range(first, min(first + size, length)):
                qkv[start + token, 2, :, token - first] = length
        output = made.attend(qkv, starts, BOTH, rate, seed)
        assert output is not None
        for mask, start, length in zip(masks, starts.tolist(), lengths, strict=False):
            part = output[start : start + length].transpose(0, 1)[..., : max(0, length - first)]
            mask[..., first : first + size] = part.double()
    return masks


def distances(length: int, longest: int) -> torch.Tensor:
    """Return the row of a table of distances for each query and key: int64 (length, length)."""
    return torch.arange(length)[None] - torch.arange(length)[:, None] + longest - 1
