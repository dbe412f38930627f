"""Buckets of a flat batch: the cheapest division, and padding that comes off again."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from benchrunner.features.blocks import Block, blocks_of
from benchrunner_checkpoints.attention.buckets import Bucket, cheapest


def blocks_with(*counts_and_lengths: tuple[int, int]) -> list[Block]:
    return list(blocks_of(np.repeat([length for _, length in counts_and_lengths], [c for c, _ in counts_and_lengths])))


def total(parts: Sequence[Sequence[Block]], overhead: int) -> int:
    costs = 0
    for part in parts:
        costs += sum(block.count for block in part) * part[-1].length ** 2 + overhead
    return costs


@pytest.mark.parametrize("overhead", [0, 3, 20, 100, 10_000])
@pytest.mark.parametrize("seed", range(5))
def test_no_division_is_cheaper(overhead: int, seed: int) -> None:
    source = np.random.default_rng(seed)
    blocks = blocks_with(*zip(source.integers(1, 4, 7).tolist(), sorted(source.permutation(20)[:7] + 1), strict=True))
    found = cheapest(blocks, lambda count, length: count * length**2 + overhead)
    assert [block for bucket in found for block in bucket.members] == blocks
    costs: list[int] = []
    for size in range(len(blocks)):
        for borders in itertools.combinations(range(1, len(blocks)), size):
            places = itertools.pairwise((0, *borders, len(blocks)))
            costs.append(total([blocks[start:stop] for start, stop in places], overhead))
    assert total([bucket.members for bucket in found], overhead) == min(costs)


def test_only_lengths_of_a_group_share_a_bucket() -> None:
    blocks = blocks_with((1, 2), (1, 3), (2, 4), (1, 9))
    found = cheapest(blocks, lambda count, length: 1, group=lambda length: length > 3)
    assert [tuple(bucket.members) for bucket in found] == [tuple(blocks[:2]), tuple(blocks[2:])]


@pytest.mark.parametrize("counts_and_lengths", [[(2, 3)], [(1, 1), (2, 3), (1, 4)]])
def test_padding_comes_off_again(counts_and_lengths: list[tuple[int, int]]) -> None:
    blocks = blocks_with((2, 2), *counts_and_lengths)
    bucket = Bucket(tuple(blocks[1:]))
    values = torch.randn(blocks[-1].stop, 2, 5)
    padded = bucket.pad(values, 7)
    assert padded.shape == (bucket.count, bucket.longest, 2, 5)
    assert torch.equal(bucket.unpad(padded), values[bucket.start : bucket.stop])
    assert torch.equal(
        padded[bucket.mask(values.device) == 0], torch.full_like(padded[bucket.mask(values.device) == 0], 7)
    )
