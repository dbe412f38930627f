"""Sequences of a flat batch in rows of equal length, as attention on a CPU computes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
import torch

from benchrunner.features.blocks import Block, Bucket, buckets, ranges
from benchrunner.features.uploads import tensor_on

SHARED_ROW = 32
"""Most tokens of a row that short sequences share: products of smaller matrices take as long as those of this size."""
COSTS = (16, 2000)
"""Costs of attention in pairs of tokens of twelve heads: the cost of each token, and the fixed cost of a bucket."""

_HIDDEN = np.float32(-1e38)
"""Added to a score, it makes the probability 0. It is finite, so that softmax gives numbers where all is hidden."""


@final
@dataclass(frozen=True)
class Rows:
    """The sequences of a bucket, written one after another into rows. A row ends with padding where it is not full."""

    bucket: Bucket
    number: int
    """Sequences in each row but the last."""
    device: torch.device

    @property
    def start(self) -> int:
        """The first token in the flat batch."""
        return self.bucket.start

    @property
    def stop(self) -> int:
        """The token after the last token in the flat batch."""
        return self.bucket.stop

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
        return self.stop - self.start < self.count * self.length

    @cached_property
    def sources(self) -> torch.Tensor:
        """int64 (count * length,): the token in the flat batch of each place of the rows, and -1 for padding."""
        sources = np.full(self.count * self.length, -1, dtype=np.int64)
        sources[self._places] = np.arange(self.start, self.stop)
        return tensor_on(sources, self.device)

    @cached_property
    def places(self) -> torch.Tensor:
        """int64 (tokens,): the place in the rows of each token of the bucket."""
        return tensor_on(self._places, self.device)

    @cached_property
    def bias(self) -> torch.Tensor | None:
        """What is added to the scores to hide other sequences and padding, or None where there are neither.

        float32 (count, 1, length, length), or (count, 1, 1, length) where each row has one sequence. Padding sees
        padding at least, so that its probabilities are numbers.
        """
        if self.number == 1 and not self.padded:
            return None
        sequences = np.full(self.count * self.length, -1, dtype=np.int32)
        sequences[self._places] = np.repeat(np.arange(self.bucket.count), self.bucket.lengths)
        keys = sequences.reshape(self.count, 1, 1, self.length)
        hidden = keys < 0 if self.number == 1 else keys != keys.swapaxes(2, 3)
        return tensor_on(np.where(hidden, _HIDDEN, np.float32(0)), self.device)

    @cached_property
    def _filled(self) -> np.ndarray:
        """Tokens of each row without padding, int64 (count,)."""
        return np.add.reduceat(self.bucket.lengths, np.arange(0, self.bucket.count, self.number))

    @cached_property
    def _places(self) -> np.ndarray:
        return ranges(np.arange(self.count, dtype=np.int64) * self.length, self._filled)


def rows_of(blocks: Sequence[Block], device: torch.device) -> tuple[Rows, ...]:
    """Write the blocks of a flat batch into rows, so that attention costs the least time on a CPU: see `COSTS`."""
    per_token, overhead = COSTS

    def cost(count: int, length: int) -> float:
        number = sequences_per_row(length)
        width = number * length
        return math.ceil(count / number) * width * (width + per_token) + overhead

    return tuple(Rows(bucket, sequences_per_row(bucket.longest), device) for bucket in buckets(blocks, cost))


def sequences_per_row(length: int) -> int:
    """Give the number of sequences that share a row, from the tokens of the longest of them."""
    return max(1, SHARED_ROW // length)
