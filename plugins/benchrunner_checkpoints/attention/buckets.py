"""Buckets: blocks of similar lengths inside a flat batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import torch
from torch import Tensor

from benchrunner.engine import FlatBatch, arrays, blocks

SHARED_ROW = 32
"""Most tokens of a row that short sequences share: products of smaller matrices take as long as those of this size."""
COSTS = (16, 2000)
"""Costs of attention in pairs of tokens of twelve heads: the cost of each token, and the fixed cost of a bucket."""

_HIDDEN = np.float32(-1e38)
"""Added to a score, it makes the probability 0. It is finite, so that softmax gives numbers where all is hidden."""


@final
@dataclass(frozen=True)
class Bucket:
    """Neighbouring blocks of a flat batch, read as one padded batch."""

    members: tuple[blocks.Block, ...]
    """The blocks, the shortest sequences first."""

    @property
    def start(self) -> int:
        """The bucket's first token in the batch."""
        return self.members[0].start

    @property
    def stop(self) -> int:
        """The token after the bucket's last token."""
        return self.members[-1].stop

    @property
    def tokens(self) -> int:
        """Number of tokens without padding."""
        return self.stop - self.start

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return self.members[-1].length

    @property
    def padded(self) -> bool:
        """Whether some sequences are shorter than the longest."""
        return len(self.members) > 1

    @cached_property
    def count(self) -> int:
        """Number of sequences."""
        return sum(block.count for block in self.members)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Tokens of each sequence, int64 (count,)."""
        return blocks.lengths_of(self.members)

    @cached_property
    def places(self) -> np.ndarray:
        """The place of each token in the padded batch, read row by row: int64 (tokens,)."""
        starts = np.arange(self.count, dtype=np.int64) * self.longest
        return blocks.ranges(starts, self.lengths)

    def pad(self, values: Tensor, filling: float) -> Tensor:
        """Turn values per token of the flat batch into a padded batch: (T, ...) -> (count, longest, ...)."""
        flat = values[self.start : self.stop]
        shape = (self.count, self.longest, *values.shape[1:])
        if not self.padded:
            return flat.reshape(shape)
        padded = flat.new_full((self.count * self.longest, *flat.shape[1:]), filling)
        places = arrays.tensor_on(self.places, values.device)
        return padded.index_copy_(0, places, flat).view(shape)

    def mask(self, device: torch.device) -> Tensor:
        """Return the attention mask, int64 (count, longest): 1 for tokens, 0 for padding."""
        lengths = arrays.tensor_on(self.lengths, device)
        is_token = torch.arange(self.longest, device=device) < lengths[:, None]
        return is_token.long()

    def unpad(self, states: Tensor) -> Tensor:
        """Turn values of the padded batch into those of its tokens: (count, longest, ...) -> (tokens, ...)."""
        flat = states[:, : self.longest].flatten(0, 1)
        if not self.padded:
            return flat
        return flat.index_select(0, arrays.tensor_on(self.places, states.device))


def cheapest(
    members: Sequence[blocks.Block],
    cost: Callable[[int, int], float],
    *,
    group: Callable[[int], int] = lambda length: 0,
) -> list[Bucket]:
    """Divide the blocks of a flat batch into the buckets whose costs have the smallest sum.

    `cost` takes the number of a bucket's sequences and the tokens of the longest of them. Only lengths of the same
    `group` share a bucket.
    """
    smallest = [0.0]  # by number of blocks: the smallest cost of the first blocks
    begins = list[int]()  # by block: the first block of the bucket that ends with it
    for last, block in enumerate(members):
        costs = dict[int, float]()  # first block of the bucket -> cost of all blocks up to this one
        count = 0
        for first in range(last, -1, -1):
            shorter = members[first]
            if group(shorter.length) != group(block.length):
                break
            count += shorter.count
            costs[first] = smallest[first] + cost(count, block.length)
        begin = min(costs, key=costs.__getitem__)  # of equal costs, the one with the fewest blocks
        begins.append(begin)
        smallest.append(costs[begin])
    result = list[Bucket]()
    stop = len(members)
    while stop:
        begin = begins[stop - 1]
        result.append(Bucket(tuple(members[begin:stop])))
        stop = begin
    return result[::-1]


@final
@dataclass(frozen=True)
class PaddedRows:
    """The sequences of a bucket, written one after another into rows. A row ends with padding where it is not full."""

    bucket: Bucket
    number: int
    """Sequences in each row but the last."""
    device: torch.device

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self._filled)

    @cached_property
    def length(self) -> int:
        """Tokens of each row, padding included."""
        return int(self._filled.max())

    @property
    def padded(self) -> bool:
        """Whether some rows end with padding."""
        return self.bucket.tokens < self.count * self.length

    @cached_property
    def sources(self) -> Tensor:
        """int64 (count * length,): the token in the flat batch of each place of the rows, and -1 for padding."""
        tokens = np.arange(self.bucket.start, self.bucket.stop)
        sources = np.full(self.count * self.length, -1, dtype=np.int64)
        sources[self._places] = tokens
        return arrays.tensor_on(sources, self.device)

    @cached_property
    def places(self) -> Tensor:
        """int64 (tokens,): the place in the rows of each token of the bucket."""
        return arrays.tensor_on(self._places, self.device)

    @cached_property
    def bias(self) -> Tensor | None:
        """What is added to the scores to hide other sequences and padding, or None where there are neither.

        float32 (count, 1, length, length), or (count, 1, 1, length) where each row has one sequence. Padding sees
        padding at least, so that its probabilities are numbers.
        """
        if self.number == 1 and not self.padded:
            return None
        owners = np.repeat(np.arange(self.bucket.count), self.bucket.lengths)
        sequences = np.full(self.count * self.length, -1, dtype=np.int32)
        sequences[self._places] = owners
        keys = sequences.reshape(self.count, 1, 1, self.length)
        is_hidden = keys < 0 if self.number == 1 else keys != keys.swapaxes(2, 3)
        bias = np.where(is_hidden, _HIDDEN, np.float32(0))
        return arrays.tensor_on(bias, self.device)

    @cached_property
    def _filled(self) -> np.ndarray:
        """Tokens of each row without padding, int64 (count,)."""
        first = np.arange(0, self.bucket.count, self.number)  # sequence of each row
        return np.add.reduceat(self.bucket.lengths, first)

    @cached_property
    def _places(self) -> np.ndarray:
        starts = np.arange(self.count, dtype=np.int64) * self.length
        return blocks.ranges(starts, self._filled)


def rows_of(batch: FlatBatch) -> tuple[PaddedRows, ...]:
    """Write the sequences of a batch into rows, so that attention costs the least time on a CPU: see `COSTS`."""
    per_token, overhead = COSTS

    def cost(count: int, length: int) -> float:
        number = sequences_per_row(length)
        width = number * length
        rows = math.ceil(count / number)
        return rows * width * (width + per_token) + overhead

    chosen = cheapest(batch.blocks, cost)
    return tuple(PaddedRows(bucket, sequences_per_row(bucket.longest), batch.tokens.device) for bucket in chosen)


def sequences_per_row(length: int) -> int:
    """Give the number of sequences that share a row, from the tokens of the longest of them."""
    return max(1, SHARED_ROW // length)
