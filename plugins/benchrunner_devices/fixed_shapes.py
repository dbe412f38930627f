"""Batches of fixed shape: their tensors have sizes that many batches share, and only tensors say how long texts are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn, final

import numpy as np

from benchrunner.engine import FlatBatch, arrays, flat_batch, gradients

if TYPE_CHECKING:
    from benchrunner.engine import blocks


@final
class Untold(Sequence["blocks.Block"]):
    """Placeholder for the blocks of a batch of fixed shape: reading them raises a `NotStatic`."""

    def __getitem__(self, index: object) -> NoReturn:
        raise gradients.NotStatic("the model or the problem reads the lengths of sequences outside of tensors")

    def __len__(self) -> NoReturn:
        raise gradients.NotStatic("the model or the problem reads the number of lengths outside of tensors")


def multiple_of(tokens: int) -> int:
    """Return the multiple to which a batch of so many tokens is padded: a power of two, at least 64.

    Filling adds at most an eighth of the tokens, or 63 tokens.
    """
    exponent = max(tokens, 1).bit_length() - 4
    return max(64, 1 << max(0, exponent))


def in_fixed_shape(batch: FlatBatch, longest: int) -> FlatBatch:
    """Hide the lengths in a batch that is padded to its `multiple_of`; no sequence has more tokens than `longest`.

    Its shape depends on the sum of the lengths of its sequences, but not on each length.
    """
    starts = arrays.borders(batch.lengths)
    borders = borders_with_filling(starts, len(batch.tokens), longest)
    return replace(
        batch,
        blocks=Untold(),
        feature_positions=np.empty(0, dtype=np.int64),
        static=flat_batch.StaticBorders(arrays.tensor_on(borders, batch.tokens.device), longest),
    )


def borders_with_filling(starts: np.ndarray, tokens: int, longest: int) -> np.ndarray:
    """Extend the borders of sequences by those of the filling, which is cut into sequences of `longest`.

    There are as many sequences as the largest filling of a batch of so many `tokens` needs; those that this batch does
    not need are empty. The result is int32 (sequences + filling sequences + 1,).
    """
    filling_sequences = -(-multiple_of(tokens) // longest)
    number = np.arange(1, filling_sequences + 1)
    ends = np.minimum(starts[-1] + longest * number, tokens)
    return np.concatenate([starts, ends]).astype(np.int32)
