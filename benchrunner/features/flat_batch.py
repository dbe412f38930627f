"""The only batch there is: sequences one after another, without padding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

from benchrunner.features.arrays import IGNORED, Features
from benchrunner.features.randomness import Dropout, NoDropout

FILLING = 0
"""The id of tokens that fill a batch up: see `collate`."""


@dataclass(frozen=True)
class Block:
    """Neighbouring sequences of one length: a dense block inside the flat batch."""

    start: int
    """Its first token."""
    count: int
    length: int

    @property
    def stop(self) -> int:
        return self.start + self.count * self.length


@dataclass(frozen=True)
class FlatBatch:
    """Whole units, their sequences ordered by length so that equal lengths are neighbours."""

    tokens: torch.Tensor
    """int64 (T,); the last few may be filling, which belongs to no sequence: see `collate`"""
    segments: torch.Tensor
    """int64 (T,)"""
    positions: torch.Tensor
    """int64 (T,): 0 at the first token of every sequence"""
    starts: torch.Tensor
    """int32 (N + 1,): sequence i is tokens starts[i] to starts[i + 1]"""
    blocks: tuple[Block, ...]
    """The sequences again, as blocks of equal length."""
    restore: torch.Tensor
    """int64 (N,): where the sequences of the units, in the units' order, stand in this batch"""
    targets: Mapping[str, torch.Tensor]
    """By name, one entry a unit, in the units' order; or one a token, in this batch's."""
    feature_positions: torch.Tensor
    """int64 (T,): where each token stands in the features; 0 for filling"""
    dropout: Dropout = field(default_factory=NoDropout)
    """What drops in this pass; drops nothing unless training gives one."""

    @property
    def dropping(self) -> bool:
        return not isinstance(self.dropout, NoDropout)

    @property
    def real(self) -> int:
        """Tokens of all sequences, without the filling."""
        return self.blocks[-1].stop

    @property
    def owner(self) -> torch.Tensor:
        """int64 (real,): the sequence of each token, as they stand here."""
        lengths = self.starts.diff().long()
        return torch.repeat_interleave(torch.arange(len(lengths), device=lengths.device), lengths)

    @property
    def longest(self) -> int:
        return max(block.length for block in self.blocks)


def collate(
    features: Features, units: np.ndarray, device: torch.device, *, dropout: Dropout | None = None, multiple: int = 1
) -> FlatBatch:
    """The batch of some units, T filled up to a multiple: layers compute the filling, and nothing reads it."""
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
        blocks=tuple(_blocks(lengths)),
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


def rounding(precision: str) -> int:
    """The multiple that a batch's tokens are filled up to.

    Half-precision products are compiled for their shape when it is first seen (oneDNN on the CPU), or are fast at
    round shapes only (CUDA); flat batches would bring a new shape every step. At most 63 tokens of some hundreds or
    thousands are filling.
    """
    return 64 if precision == "bf16" else 1


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """start, start + 1, ... for every (start, count), one after another: int64 (sum of counts,)."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    places: np.ndarray = np.arange(total, dtype=np.int64) + np.repeat(starts - (ends - counts), counts)
    return places


def _blocks(lengths: np.ndarray) -> Iterator[Block]:
    start = 0
    for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
        yield Block(start, int(count), int(length))
        start += int(count) * int(length)


def micro_batches(units: np.ndarray, tokens: np.ndarray, budget: int) -> list[np.ndarray]:
    """Units split so that each part has at most `budget` tokens, or is a single unit. `tokens` holds every unit's."""
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
