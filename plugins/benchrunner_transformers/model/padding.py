"""Padding: a flat batch as a few padded batches of similar lengths, and their states as flat states again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from benchrunner.engine import FlatBatch
from benchrunner_checkpoints import buckets

OVERHEAD = {"cpu": 16, "cuda": 4096}
"""Type of device -> number of padding tokens that take about as long as the fixed costs of one more padded batch."""


def padded_buckets(batch: FlatBatch, *, group: Callable[[int], int] = lambda length: 0) -> list[buckets.Bucket]:
    """Divide a flat batch into buckets so that padding and fixed costs together are smallest."""
    overhead = OVERHEAD.get(batch.tokens.device.type, OVERHEAD["cuda"])
    return buckets.cheapest(batch.blocks, lambda count, length: count * length + overhead, group=group)


def join(parts: Sequence[torch.Tensor], batch: FlatBatch) -> torch.Tensor:
    """Join the states of all buckets to the flat states of the batch, with zeros for the filling: (T, H)."""
    states = torch.cat(list(parts))
    filling = len(batch.tokens) - batch.real
    if filling:
        states = torch.cat([states, states.new_zeros(filling, states.shape[1])])
    return states
