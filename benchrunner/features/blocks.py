"""Blocks: neighbouring sequences of equal length inside a flat batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


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


def lengths_of(blocks: Sequence[Block]) -> np.ndarray:
    """Return the tokens of each sequence of some blocks, int64 (sequences,)."""
    lengths = [block.length for block in blocks]
    counts = [block.count for block in blocks]
    return np.repeat(lengths, counts)


def blocks_of(lengths: np.ndarray) -> Iterator[Block]:
    """Yield the blocks of sequences that are sorted by length, given their lengths."""
    start = 0
    distinct, counts = np.unique(lengths, return_counts=True)
    for length, count in zip(distinct.tolist(), counts.tolist(), strict=True):
        block = Block(start, count, length)
        yield block
        start = block.stop


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Join the ranges start .. start + count - 1, int64: ranges([7, 2], [2, 3]) is [7, 8, 2, 3, 4]."""
    before = np.cumsum(counts) - counts  # how many numbers stand before each range
    places: np.ndarray = np.repeat(starts - before, counts)
    places += np.arange(len(places))
    return places
