"""Padding: a flat batch as a few padded batches of similar lengths, and their states as flat states again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import torch

from benchrunner.engine import Block, FlatBatch, ranges

OVERHEAD = {"cpu": 16, "cuda": 4096}
"""Type of device -> number of padding tokens that take about as long as the fixed costs of one more padded batch."""


@final
@dataclass(frozen=True)
class Bucket:
    """Neighbouring blocks of a flat batch, read as one padded batch."""

    blocks: tuple[Block, ...]

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return self.blocks[-1].length

    @property
    def padded(self) -> bool:
        """Whether some sequences are shorter than the longest."""
        return len(self.blocks) > 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of each sequence, int64 (sequences,)."""
        return np.repeat([block.length for block in self.blocks], [block.count for block in self.blocks])

    def pad(self, values: torch.Tensor, filling: int) -> torch.Tensor:
        """Turn a value per token of the flat batch into a padded batch: (T,) -> (sequences, longest)."""
        flat = values[self.blocks[0].start : self.blocks[-1].stop]
        if not self.padded:
            return flat.view(-1, self.longest)
        padded = flat.new_full((len(self.lengths) * self.longest,), filling)
        return padded.index_copy_(0, self._places(values.device), flat).view(-1, self.longest)

    def mask(self, device: torch.device) -> torch.Tensor:
        """Return the attention mask, int64 (sequences, longest): 1 for tokens, 0 for padding."""
        lengths = torch.from_numpy(self.lengths).to(device)
        return (torch.arange(self.longest, device=device) < lengths[:, None]).long()

    def unpad(self, states: torch.Tensor) -> torch.Tensor:
        """Turn the states of the padded batch into those of its tokens: (sequences, longest, H) -> (tokens, H)."""
        flat = states[:, : self.longest].flatten(0, 1)
        return flat.index_select(0, self._places(states.device)) if self.padded else flat

    def _places(self, device: torch.device) -> torch.Tensor:
        """Return the place of each token in the padded batch, read row by row: int64 (tokens,)."""
        rows = np.arange(len(self.lengths), dtype=np.int64) * self.longest
        return torch.from_numpy(ranges(rows, self.lengths)).to(device)


def buckets(blocks: Sequence[Block], *, overhead: int, group: Callable[[int], int] = lambda length: 0) -> list[Bucket]:
    """Divide the blocks of a flat batch into buckets so that padding and fixed costs together are smallest.

    `overhead` is the fixed cost of a bucket, in tokens. Only lengths of the same `group` share a bucket.
    """
    costs, begins = [0], list[int]()  # by number of blocks: the smallest cost, and the first block of the last bucket
    for last, block in enumerate(blocks):
        best, begin, count = None, last, 0
        for first in range(last, -1, -1):
            if group(blocks[first].length) != group(block.length):
                break
            count += blocks[first].count
            cost = costs[first] + count * block.length + overhead
            if best is None or cost < best:
                best, begin = cost, first
        assert best is not None
        costs.append(best)
        begins.append(begin)
    result, stop = list[Bucket](), len(blocks)
    while stop:
        result.append(Bucket(tuple(blocks[begins[stop - 1] : stop])))
        stop = begins[stop - 1]
    return result[::-1]


def join(parts: Sequence[torch.Tensor], batch: FlatBatch) -> torch.Tensor:
    """Join the states of all buckets to the flat states of the batch, with zeros for the filling: (T, H)."""
    states = torch.cat(list(parts))
    if filling := len(batch.tokens) - batch.real:
        states = torch.cat([states, states.new_zeros(filling, states.shape[1])])
    return states
