"""The flat batch: the sequences of a batch one after another, without padding. There is no other kind of batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from numpy.typing import DTypeLike

from benchrunner.features.arrays import IGNORED, Features
from benchrunner.features.attention_rows import Rows, rows_of
from benchrunner.features.blocks import Block, Bucket, blocks_of, buckets, lengths_of, ranges
from benchrunner.features.randomness import Dropout, NoDropout
from benchrunner.features.static_shapes import StaticBorders, StaticShape, Untold
from benchrunner.features.uploads import on_device

FILLING = 0
"""The id of the filling tokens at the end of a batch: see `collate`."""
ATTENTION_COSTS = (24, 400)
"""Costs of attention in pairs of tokens of twelve heads: the cost of each token, and the fixed cost of a bucket."""


@dataclass(frozen=True)
class FlatBatch:
    """A batch of whole units. Sequences are in the order of their lengths, so that equal lengths form blocks."""

    tokens: torch.Tensor
    """int64 (T,): token ids; tokens at the end may be filling, which belongs to no sequence: see `collate`"""
    segments: torch.Tensor
    """int64 (T,): segment of each token: 0, or 1 in the second text of a pair"""
    positions: torch.Tensor
    """int64 (T,): position of each token in its sequence, from 0"""
    starts: torch.Tensor
    """int32 (N + 1,): sequence i is tokens starts[i] to starts[i + 1]"""
    blocks: Sequence[Block]
    """The same sequences, as blocks of equal length."""
    restore: torch.Tensor
    """int64 (N,): index in this batch of each sequence, in the order of the units"""
    targets: Mapping[str, torch.Tensor]
    """By name: one entry per unit, in the order of the units, or one per token, in the order of this batch."""
    feature_positions: np.ndarray
    """int64 (T,): index of each token in the features, on the CPU; 0 for filling. Empty in a batch of fixed shape."""
    dropout: Dropout = field(default_factory=NoDropout)
    """The dropout of this forward pass; drops nothing outside of training."""
    static: StaticBorders | None = None
    """Borders of the sequences of a batch of fixed shape, whose `blocks` cannot be read; None in other batches."""

    @property
    def dropping(self) -> bool:
        """Whether this forward pass applies dropout."""
        return not isinstance(self.dropout, NoDropout)

    @property
    def real(self) -> int:
        """Number of tokens without the filling."""
        return self.blocks[-1].stop

    @property
    def lengths(self) -> np.ndarray:
        """int64 (N,): tokens of each sequence, on the CPU."""
        return lengths_of(self.blocks)

    @property
    def owner(self) -> torch.Tensor:
        """int64 (real,): the sequence of each token, as its index in this batch."""
        lengths = self.starts.diff().long()
        sequences = torch.arange(len(lengths), device=lengths.device)
        # With the size of the result, torch need not wait for the lengths.
        return torch.repeat_interleave(sequences, lengths, output_size=self.real)

    @cached_property
    def attention_rows(self) -> tuple[Rows, ...]:
        """The sequences in rows of equal length, as attention on a CPU computes them."""
        return rows_of(self.blocks, self.tokens.device)

    @cached_property
    def attention_buckets(self) -> tuple[Bucket, ...]:
        """The blocks in buckets that cost attention the least time on a CPU: see `ATTENTION_COSTS`."""
        per_token, overhead = ATTENTION_COSTS

        def cost(count: int, length: int) -> float:
            return count * length * (length + per_token) + overhead

        return tuple(buckets(self.blocks, cost))

    def padded(self, values: torch.Tensor, filling: float) -> torch.Tensor:
        """Turn values per token into a padded batch: (T, ...) -> (N, longest, ...), in a few operators.

        The longest is that of `longest_border`, so that a batch of fixed shape has a result of fixed shape.
        """
        steps = torch.arange(self.longest_border, dtype=torch.int32, device=self.starts.device)
        places = self.starts[:-1, None] + steps
        outside = places >= self.starts[1:, None]
        rows = values.index_select(0, places.clamp(max=len(values) - 1).flatten())
        outside = outside.view(*places.shape, *[1] * (values.dim() - 1))
        return rows.view(*places.shape, *values.shape[1:]).masked_fill(outside, filling)

    @cached_property
    def borders(self) -> torch.Tensor:
        """int32: `starts`, with the filling as one more sequence if there is any."""
        if self.static is not None:
            return self.static.starts
        if self.real == len(self.tokens):
            return self.starts
        return torch.nn.functional.pad(self.starts, (0, 1), value=len(self.tokens))

    @property
    def longest_border(self) -> int:
        """Tokens of the longest sequence of `borders`."""
        if self.static is not None:
            return self.static.longest
        return max(self.longest, len(self.tokens) - self.real)

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return max(block.length for block in self.blocks)


def collate(
    features: Features,
    units: np.ndarray,
    device: torch.device,
    *,
    dropout: Dropout | None = None,
    multiple: int = 1,
    shape: StaticShape | None = None,
) -> FlatBatch:
    """Build the batch of the given units.

    Filling tokens make the number of tokens a multiple of `multiple`, or that of `shape`. Layers compute states of the
    filling; nothing reads these states.
    """
    counts = np.diff(features.groups)[units]
    sequences = ranges(features.groups[units], counts)
    lengths = features.starts[sequences + 1] - features.starts[sequences]
    order = np.argsort(lengths, kind="stable")
    sequences = sequences[order]
    lengths = lengths[order]
    places = ranges(features.starts[sequences], lengths)
    starts = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=starts[1:])
    restore = np.empty_like(order)
    restore[order] = np.arange(len(order))

    size = len(places) + -len(places) % multiple if shape is None else shape.tokens

    def filled(values: np.ndarray, filling: int, kind: DTypeLike = np.int64) -> np.ndarray:
        result = np.full(size, filling, dtype=kind)
        result[: len(values)] = values
        return result

    arrays = {
        "tokens": filled(features.tokens[places], FILLING),
        "segments": filled(features.segments[places], 0),
        "positions": filled(ranges(np.zeros(len(lengths), dtype=np.int64), lengths), 0),
        "starts": starts,
        "restore": restore,
    }
    targets = {f"target {name}": values[units] for name, values in features.targets.items()}
    for name, values in features.token_targets.items():
        targets[f"target {name}"] = filled(values[places], IGNORED, values.dtype)
    borders = {} if shape is None else {"borders": shape.borders_of(starts)}
    tensors = on_device(arrays | targets | borders, device)
    of_tokens = {name: tensors[name] for name in arrays}
    return FlatBatch(
        **of_tokens,
        blocks=tuple(blocks_of(lengths)) if shape is None else Untold(),
        targets={name.removeprefix("target "): tensors[name] for name in targets},
        feature_positions=filled(places, 0) if shape is None else np.empty(0, dtype=np.int64),
        dropout=dropout or NoDropout(),
        static=None if shape is None else StaticBorders(tensors["borders"], shape.longest),
    )


def rounding(precision: str, tokens: int) -> int:
    """Return the multiple to which a batch's number of tokens is filled up.

    Products in half precision are compiled for each new shape (oneDNN on the CPU) or are fast for round shapes only
    (CUDA), and without filling every flat batch has a new shape. At most a thirty-second of the tokens are filling, or
    15 of them.
    """
    if precision != "bf16":
        return 1
    share = 1 << max(0, tokens.bit_length() - 6)  # a power of two
    return min(max(16, share), 64)


def micro_batches(units: np.ndarray, tokens: np.ndarray, budget: int) -> list[np.ndarray]:
    """Split units into parts of at most `budget` tokens; a unit with more tokens is a part by itself.

    `tokens` holds the number of tokens of every unit of the features.
    """
    if tokens[units].sum() <= budget:
        return [units]
    parts = [list[int]()]
    used = 0
    for unit in units[np.argsort(tokens[units], kind="stable")].tolist():
        size = int(tokens[unit])
        if parts[-1] and used + size > budget:
            parts.append([])
            used = 0
        parts[-1].append(unit)
        used += size
    return [np.array(part) for part in parts]
