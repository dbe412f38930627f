"""Micro-batches are dealt evenly by tokens, and tensors are sent in few pieces."""

import itertools

import pytest
import torch

from benchrunner_devices.dealing import dealt
from benchrunner_devices.exchange import blocks


@pytest.mark.parametrize(
    ("tokens", "processes", "shares"),
    [
        ([5], 1, [[0]]),
        ([5], 3, [[0], [], []]),
        ([1, 2, 3], 2, [[2], [0, 1]]),
        ([4, 4, 4, 4], 2, [[0, 2], [1, 3]]),
        ([9, 1, 1, 1, 6], 2, [[0], [1, 2, 3, 4]]),
        ([], 2, [[], []]),
    ],
)
def test_the_largest_goes_to_who_has_the_fewest(tokens: list[int], processes: int, shares: list[list[int]]) -> None:
    assert dealt(tokens, processes) == shares


def test_each_micro_batch_is_dealt_once_and_evenly() -> None:
    """The largest sum is at most 4/3 - 1/(3m) of the best possible one (Graham 1969), found by trying all ways."""
    tokens = [7, 3, 5, 5, 2, 8, 1]
    for processes in (2, 3):
        shares = dealt(tokens, processes)
        assert sorted(itertools.chain(*shares)) == list(range(len(tokens)))
        largest = max(sum(tokens[number] for number in share) for share in shares)
        ways = itertools.product(range(processes), repeat=len(tokens))
        best = min(max(_sums(tokens, way, processes)) for way in ways)
        assert largest <= (4 / 3 - 1 / (3 * processes)) * best


def _sums(tokens: list[int], way: tuple[int, ...], processes: int) -> list[int]:
    sums = [0] * processes
    for size, process in zip(tokens, way, strict=True):
        sums[process] += size
    return sums


def test_tensors_are_sent_in_pieces_of_one_type() -> None:
    sizes = [3, 4, 5, 1, 2, 1]
    tensors = [torch.zeros(size) for size in sizes]
    tensors[4] = tensors[4].bfloat16()
    pieces = [[tensor.numel() for tensor in block] for block in blocks(tensors, most=7)]
    assert pieces == [[3, 4], [5, 1], [2], [1]]
    assert [len(block) for block in blocks([torch.zeros(9), torch.zeros(1)], most=7)] == [1, 1]
