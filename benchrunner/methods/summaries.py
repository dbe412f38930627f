"""Summaries: one vector for each sequence of a batch, from the states of its tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from benchrunner.backbones.encoder import Encoder
from benchrunner.features.flat_batch import FlatBatch


def summarize(choice: str, encoder: Encoder, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    """Compute the summary that a recipe's `summary` names: (T, hidden) -> (N, hidden), in the order of the batch."""
    if choice == "pooler":
        return encoder.summary(hidden, batch)
    return _SUMMARIES[choice](hidden, batch)


def _first(hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return hidden.index_select(0, batch.starts[:-1])


def _last(hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return hidden.index_select(0, batch.starts[1:] - 1)


def _mean(hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return torch.cat([block.mean(1) for block in _blocks(hidden, batch)])


def _max(hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return torch.cat([block.amax(1) for block in _blocks(hidden, batch)])


def _blocks(hidden: torch.Tensor, batch: FlatBatch) -> list[torch.Tensor]:
    """Return the states of each block, fp32 (sequences, length, hidden): a mean in half precision would lose bits."""
    return [
        hidden[block.start : block.stop].float().view(block.count, block.length, hidden.shape[1])
        for block in batch.blocks
    ]


_SUMMARIES: Mapping[str, Callable[[torch.Tensor, FlatBatch], torch.Tensor]] = {
    "first": _first,
    "last": _last,
    "mean": _mean,
    "max": _max,
}
