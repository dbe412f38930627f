"""Sequences of equal and of similar lengths inside a flat batch: blocks, and buckets of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from benchrunner.features.uploads import tensor_on


@dataclass(frozen=True)
class Block:
    """Neighbouring sequences of equal length: a dense block inside the flat batch."""

    start: int
    """The block's first token in the batch."""
    count: int
    """How many sequences the block holds."""
    length: int
    """Tokens of each sequence."""

    @property
    def stop(self) -> int:
        """The token after the block's last token."""
        return self.start + self.count * self.length


@dataclass(frozen=True)
class Bucket:
    """Neighbouring blocks of a flat batch, read as one padded batch."""

    blocks: tuple[Block, ...]

    @property
    def start(self) -> int:
        """The bucket's first token in the batch."""
        return self.blocks[0].start

    @property
    def stop(self) -> int:
        """The token after the bucket's last token."""
        return self.blocks[-1].stop

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return self.blocks[-1].length

    @property
    def padded(self) -> bool:
        """Whether some sequences are shorter than the longest."""
        return len(self.blocks) > 1

    @cached_property
    def count(self) -> int:
        """Number of sequences."""
        return sum(block.count for block in self.blocks)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of each sequence, int64 (count,)."""
        return lengths_of(self.blocks)

    @cached_property
    def places(self) -> np.ndarray:
        """The place of each token in the padded batch, read row by row: int64 (tokens,)."""
        return ranges(np.arange(self.count, dtype=np.int64) * self.longest, self.lengths)

    def pad(self, values: torch.Tensor, filling: float) -> torch.Tensor:
        """Turn values per token of the flat batch into a padded batch: (T, ...) -> (count, longest, ...)."""
        flat = values[self.start : self.stop]
        shape = (self.count, self.longest, *values.shape[1:])
        if not self.padded:
            return flat.reshape(shape)
        padded = flat.new_full((self.count * self.longest, *flat.shape[1:]), filling)
        return padded.index_copy_(0, tensor_on(self.places, values.device), flat).view(shape)

    def mask(self, device: torch.device) -> torch.Tensor:
        """Return the attention mask, int64 (count, longest): 1 for tokens, 0 for padding."""
        lengths = tensor_on(self.lengths, device)
        return (torch.arange(self.longest, device=device) < lengths[:, None]).long()

    def unpad(self, states: torch.Tensor) -> torch.Tensor:
        """Turn values of the padded batch into those of its tokens: (count, longest, ...) -> (tokens, ...)."""
        flat = states[:, : self.longest].flatten(0, 1)
        return flat.index_select(0, tensor_on(self.places, states.device)) if self.padded else flat


def lengths_of(blocks: Sequence[Block]) -> np.ndarray:
    """Return the tokens of each sequence of some blocks, int64 (sequences,)."""
    counts = [block.count for block in blocks]
    return np.repeat([block.length for block in blocks], counts)


def buckets(
    blocks: Sequence[Block], cost: Callable[[int, int], float], *, group: Callable[[int], int] = lambda length: 0
) -> list[Bucket]:
    """Divide the blocks of a flat batch into the buckets whose costs have the smallest sum.

    `cost` takes the number of a bucket's sequences and the tokens of the longest of them. Only lengths of the same
    `group` share a bucket.
    """
    smallest = [0.0]  # by number of blocks: the smallest cost of the first blocks
    begins = list[int]()  # by block: the first block of the bucket that ends with it
    for last, block in enumerate(blocks):
        costs = dict[int, float]()  # first block of the bucket -> cost of all blocks up to this one
        count = 0
        for first in range(last, -1, -1):
            if group(blocks[first].length) != group(block.length):
                break
            count += blocks[first].count
            costs[first] = smallest[first] + cost(count, block.length)
        begin = min(costs, key=costs.__getitem__)  # of equal costs, the one with the fewest blocks
        begins.append(begin)
        smallest.append(costs[begin])
    result = list[Bucket]()
    stop = len(blocks)
    while stop:
        begin = begins[stop - 1]
        result.append(Bucket(tuple(blocks[begin:stop])))
        stop = begin
    return result[::-1]


def blocks_of(lengths: np.ndarray) -> Iterator[Block]:
    """Yield the blocks of sequences that are sorted by length, given their lengths."""
    start = 0
    for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
        block = Block(start, int(count), int(length))
        yield block
        start = block.stop


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Join the ranges start .. start + count - 1, int64: ranges([7, 2], [2, 3]) is [7, 8, 2, 3, 4]."""
    before = np.cumsum(counts) - counts  # how many numbers stand before each range
    places: np.ndarray = np.repeat(starts - before, counts)
    places += np.arange(len(places))
    return places
