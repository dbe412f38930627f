"""The flat batch: the sequences of a batch one after another, without padding. There is no other kind of batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch

from benchrunner.features.arrays import IGNORED, Features
from benchrunner.features.blocks import Block, Bucket, blocks_of, buckets, ranges
from benchrunner.features.randomness import Dropout, NoDropout

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
    blocks: tuple[Block, ...]
    """The same sequences, as blocks of equal length."""
    restore: torch.Tensor
    """int64 (N,): index in this batch of each sequence, in the order of the units"""
    targets: Mapping[str, torch.Tensor]
    """By name: one entry per unit, in the order of the units, or one per token, in the order of this batch."""
    feature_positions: torch.Tensor
    """int64 (T,): index of each token in the features; 0 for filling"""
    dropout: Dropout = field(default_factory=NoDropout)
    """The dropout of this forward pass; drops nothing outside of training."""

    @property
    def dropping(self) -> bool:
        """Whether this forward pass applies dropout."""
        return not isinstance(self.dropout, NoDropout)

    @property
    def real(self) -> int:
        """Number of tokens without the filling."""
        return self.blocks[-1].stop

    @property
    def owner(self) -> torch.Tensor:
        """int64 (real,): the sequence of each token, as its index in this batch."""
        lengths = self.starts.diff().long()
        return torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)

    @cached_property
    def attention_buckets(self) -> tuple[Bucket, ...]:
        """The blocks in buckets that cost attention the least time on a CPU: see `ATTENTION_COSTS`."""
        per_token, overhead = ATTENTION_COSTS
        return tuple(buckets(self.blocks, lambda count, length: count * length * (length + per_token) + overhead))

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return max(block.length for block in self.blocks)


def collate(
    features: Features, units: np.ndarray, device: torch.device, *, dropout: Dropout | None = None, multiple: int = 1
) -> FlatBatch:
    """Build the batch of the given units.

    Filling tokens make the number of tokens a multiple of `multiple`. Layers compute states of the filling; nothing
    reads these states.
    """
    counts = np.diff(features.groups)[units]
    sequences = ranges(features.groups[units], counts)
    lengths = features.starts[sequences + 1] - features.starts[sequences]
    order = np.argsort(lengths, kind="stable")
    sequences, lengths = sequences[order], lengths[order]
    places = ranges(features.starts[sequences], lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    restore = np.empty_like(order)
    restore[order] = np.arange(len(order))
    filling = -len(places) % multiple
    token_targets = {
        name: np.pad(values[places], (0, filling), constant_values=IGNORED)
        for name, values in features.token_targets.items()
    }

    def tensor(values: np.ndarray, kind: type[np.generic] = np.int64) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values, dtype=kind)).to(device)

    def filled(values: np.ndarray) -> torch.Tensor:
        return tensor(np.pad(values, (0, filling)))

    return FlatBatch(
        tokens=tensor(np.pad(features.tokens[places], (0, filling), constant_values=FILLING)),
        segments=filled(features.segments[places]),
        positions=filled(ranges(np.zeros(len(lengths), dtype=np.int64), lengths)),
        starts=tensor(starts, np.int32),
        blocks=tuple(blocks_of(lengths)),
        restore=tensor(restore),
        targets={
            name: torch.from_numpy(values).to(device)
            for name, values in (
                *((name, np.array(values[units])) for name, values in features.targets.items()),
                *token_targets.items(),
            )
        },
        feature_positions=filled(places),
        dropout=dropout or NoDropout(),
    )


def time_order(batch: FlatBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the order of tokens that torch's `PackedSequence` needs, and the number of sequences at each time step.

    The order has the first token of every sequence, the longest sequence first, then every second token, and so on.
    """
    starts, lengths = batch.starts[:-1].long().flip(0), batch.starts.diff().long().flip(0)
    times = torch.arange(batch.longest, device=starts.device)[:, None]
    present = times < lengths
    return (starts + times)[present], present.sum(1).cpu()


def rounding(precision: str) -> int:
    """Return the multiple to which a batch's number of tokens is filled up.

    Products in half precision are compiled for each new shape (oneDNN on the CPU) or are fast for round shapes only
    (CUDA), and without filling every flat batch has a new shape. Of some hundreds or thousands of tokens, at most 63
    are filling.
    """
    return 64 if precision == "bf16" else 1


def micro_batches(units: np.ndarray, tokens: np.ndarray, budget: int) -> list[np.ndarray]:
    """Split units into parts of at most `budget` tokens; a unit with more tokens is a part by itself.

    `tokens` holds the number of tokens of every unit of the features.
    """
    if tokens[units].sum() <= budget:
        return [units]
    parts, part, used = list[np.ndarray](), list[int](), 0
    for unit in units[np.argsort(tokens[units], kind="stable")]:
        if part and used + tokens[unit] > budget:
            parts.append(np.array(part))
            part, used = [], 0
        part.append(int(unit))
        used += int(tokens[unit])
    return [*parts, np.array(part)]
