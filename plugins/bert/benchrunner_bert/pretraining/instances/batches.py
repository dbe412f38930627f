"""Instances as one flat batch, with what is to be predicted in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch

from benchrunner.engine import Dropout, Features, FlatBatch, Sequences
from benchrunner.engine import collate as flattened
from benchrunner_bert.pretraining.instances.instance import Instance


@final
@dataclass(frozen=True)
class PretrainingBatch:
    """What the losses are computed from; sequences stand in the flat batch's order, shortest first."""

    flat: FlatBatch
    positions: torch.Tensor
    """int64 (P,): the tokens of the flat batch whose states predict"""
    labels: torch.Tensor
    """int64 (P,): what they are to predict"""
    is_next: torch.Tensor
    """int64 (N,): 1 where the second span follows the first, 0 where not, -1 where there is none"""


def collate(
    instances: Sequence[Instance], device: torch.device, *, dropout: Dropout | None = None, multiple: int = 1
) -> PretrainingBatch:
    """The batch of some instances, in any order; tokens filled up to a multiple as in `benchrunner.flat`."""
    ordered = sorted(instances, key=lambda one: len(one.tokens))
    starts = np.concatenate([[0], np.cumsum([len(one.tokens) for one in ordered])])
    units = np.arange(len(ordered))
    tokens, segments = (np.concatenate([getattr(one, part) for one in ordered]) for part in ("tokens", "segments"))
    features = Features.of(Sequences(tokens, segments, starts))
    positions = np.concatenate([one.positions + start for one, start in zip(ordered, starts, strict=False)])
    labels = np.concatenate([one.labels for one in ordered]).astype(np.int64)
    return PretrainingBatch(
        flat=flattened(features, units, device, dropout=dropout, multiple=multiple),
        positions=torch.from_numpy(positions).to(device),
        labels=torch.from_numpy(labels).to(device),
        is_next=torch.tensor([one.is_next for one in ordered], device=device),
    )
