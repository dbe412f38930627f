"""Sequences of equal and of similar lengths inside a flat batch: blocks, and buckets of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from benchrunner.features.uploads import on_device


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
        return np.repeat([block.length for block in self.blocks], [block.count for block in self.blocks])

    @cached_property
    def places(self) -> np.ndarray:
        """The place of each token in the padded batch, read row by row: int64 (tokens,)."""
        return ranges(np.arange(self.count, dtype=np.int64) * self.longest, self.lengths)

    def pad(self, values: torch.Tensor, filling: float) -> torch.Tensor:
        """Turn values per token of the flat batch into a padded batch: (T, ...) -> (count, longest, ...)."""
        flat, shape = values[self.start : self.stop], (self.count, self.longest, *values.shape[1:])
        if not self.padded:
            return flat.reshape(shape)
        padded = flat.new_full((self.count * self.longest, *flat.shape[1:]), filling)
        return padded.index_copy_(0, self._places_on(values.device), flat).view(shape)

    def mask(self, device: torch.device) -> torch.Tensor:
        """Return the attention mask, int64 (count, longest): 1 for tokens, 0 for padding."""
        lengths = on_device({"lengths": self.lengths}, device)["lengths"]
        return (torch.arange(self.longest, device=device) < lengths[:, None]).long()

    def unpad(self, states: torch.Tensor) -> torch.Tensor:
        """Turn values of the padded batch into those of its tokens: (count, longest, ...) -> (tokens, ...)."""
        flat = states[:, : self.longest].flatten(0, 1)
        return flat.index_select(0, self._places_on(states.device)) if self.padded else flat

    def _places_on(self, device: torch.device) -> torch.Tensor:
        return on_device({"places": self.places}, device)["places"]


def buckets(
    blocks: Sequence[Block], cost: Callable[[int, int], float], *, group: Callable[[int], int] = lambda length: 0
) -> list[Bucket]:
    """Divide the blocks of a flat batch into the buckets whose costs have the smallest sum.

    `cost` takes the number of a bucket's sequences and the tokens of the longest of them. Only lengths of the same
    `group` share a bucket.
    """
    costs, begins = [0.0], list[int]()  # by number of blocks: the smallest cost, and the first block of the last bucket
    for last, block in enumerate(blocks):
        best, begin, count = None, last, 0
        for first in range(last, -1, -1):
            if group(blocks[first].length) != group(block.length):
                break
            count += blocks[first].count
            whole = costs[first] + cost(count, block.length)
            if best is None or whole < best:
                best, begin = whole, first
        assert best is not None
        costs.append(best)
        begins.append(begin)
    result, stop = list[Bucket](), len(blocks)
    while stop:
        result.append(Bucket(tuple(blocks[begins[stop - 1] : stop])))
        stop = begins[stop - 1]
    return result[::-1]


def blocks_of(lengths: np.ndarray) -> Iterator[Block]:
    """Yield the blocks of sequences that are sorted by length, given their lengths."""
    start = 0
    for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
        yield Block(start, int(count), int(length))
        start += int(count) * int(length)


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return start, start + 1, ... of `count` numbers for every (start, count), joined: int64 (sum of counts,)."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    places: np.ndarray = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - counts), counts)
    return places
