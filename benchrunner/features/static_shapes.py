"""Batches of fixed shape, for CUDA graphs: a graph is recorded once, and computes all batches of its shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, final

import numpy as np
import torch

from benchrunner.features.blocks import Block


class NotStatic(RuntimeError):
    """Code reads a value of a batch of fixed shape that is not in a tensor, such as the length of a sequence.

    A CUDA graph would use the value of the batch that was recorded for all later batches.
    """


@final
@dataclass(frozen=True)
class StaticShape:
    """Shape of a batch: it depends on the sum of the lengths of its sequences, but not on each length."""

    tokens: int
    """Number of tokens with the filling."""
    sequences: int
    """Number of sequences without the filling."""
    longest: int
    """Most tokens of a sequence."""

    @classmethod
    def of(cls, tokens: int, sequences: int, longest: int) -> StaticShape:
        """Return the shape for a batch of so many real tokens: filling adds at most an eighth of them, or 63 tokens."""
        multiple = _multiple(tokens)
        return cls(tokens + -tokens % multiple, sequences, longest)

    @property
    def filling_sequences(self) -> int:
        """Number of sequences that hold all filling that a batch of this shape may have."""
        return -(-_multiple(self.tokens) // self.longest)

    def borders_of(self, starts: np.ndarray) -> np.ndarray:
        """Extend the borders of the sequences by those of the filling, which is cut into sequences of `longest`.

        Sequences that are not needed are empty. The result is int32 (sequences + filling sequences + 1,).
        """
        ends = starts[-1] + self.longest * np.arange(1, self.filling_sequences + 1)
        return np.concatenate([starts, np.minimum(ends, self.tokens)]).astype(np.int32)


@final
@dataclass(frozen=True)
class StaticBorders:
    """What attention reads of a batch of fixed shape."""

    starts: torch.Tensor
    """int32: sequence i is tokens starts[i] to starts[i + 1]; the last sequences are filling."""
    longest: int
    """Most tokens of a sequence in any batch of the shape."""


@final
class Untold(Sequence[Block]):
    """Placeholder for the blocks of a batch of fixed shape: reading them raises `NotStatic`."""

    def __getitem__(self, index: object) -> NoReturn:
        raise NotStatic("the model or the problem reads the lengths of sequences outside of tensors")

    def __len__(self) -> NoReturn:
        raise NotStatic("the model or the problem reads the number of lengths outside of tensors")


def _multiple(tokens: int) -> int:
    """Return the multiple to which a batch of so many tokens is filled up: a power of two, at least 64."""
    return int(max(64, 2 ** (max(tokens, 1).bit_length() - 4)))
