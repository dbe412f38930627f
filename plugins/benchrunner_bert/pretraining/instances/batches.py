"""Pack instances into arrays, and arrays into one flat batch with what is to be predicted in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch

from benchrunner.engine import Dropout, Features, FlatBatch, arrays, collate as collate_features
from benchrunner_bert.pretraining.instances.instance import Instance


@final
@dataclass(frozen=True)
class Packed:
    """Instances one after another, shortest first. One process can make them for another: there is no tensor."""

    features: Features
    targets: Mapping[str, np.ndarray]
    """The fields of a `PretrainingBatch` that are not `flat`."""

    def on(
        self, device: torch.device, *, dropout: Dropout | None = None, multiple: int = 1, kernels: Any = None
    ) -> PretrainingBatch:
        """Build the batch on a device. Padding at the end makes its number of tokens a multiple of `multiple`.

        `kernels` are those that a plugin offers for CPUs, or None.
        """
        units = np.arange(len(self.features.owner))
        flat = collate_features(self.features, units, device, dropout=dropout, multiple=multiple, kernels=kernels)
        return PretrainingBatch(flat, **arrays.on_device(dict(self.targets), device))


@final
@dataclass(frozen=True)
class PretrainingBatch:
    """A flat batch and its targets. Sequences have the flat batch's order, shortest first."""

    flat: FlatBatch
    positions: torch.Tensor
    """int64 (P,): indices of the flat batch's tokens whose states predict"""
    labels: torch.Tensor
    """int64 (P,): tokens to predict"""
    is_next: torch.Tensor
    """int64 (N,): 1 where the second span follows the first, 0 where not, -1 where nothing predicts it"""


def pack(instances: Sequence[Instance]) -> Packed:
    """Join instances that are given in any order."""
    ordered = sorted(instances, key=lambda instance: len(instance.tokens))
    lengths = [len(instance.tokens) for instance in ordered]
    starts = np.cumsum([0, *lengths])
    units = np.arange(len(ordered))
    features = Features(
        tokens=np.concatenate([instance.tokens for instance in ordered]),
        segments=np.concatenate([instance.segments for instance in ordered]),
        starts=starts,
        groups=np.arange(len(ordered) + 1),
        owner=units,
        targets={},
    )
    positions = [instance.positions + start for instance, start in zip(ordered, starts[:-1], strict=True)]
    targets = {
        "positions": np.concatenate(positions),
        "labels": np.concatenate([instance.labels for instance in ordered]).astype(np.int64),
        "is_next": np.array([instance.is_next for instance in ordered], dtype=np.int64),
    }
    return Packed(features, targets)
