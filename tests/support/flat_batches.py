"""Flat batches of given lengths, and random inputs of attention for them."""

import numpy as np
import torch

from benchrunner.features.arrays import Features
from benchrunner.features.flat_batch import FlatBatch, collate
from benchrunner.features.kernels import Kernels
from benchrunner.features.randomness import Dropout


def batch_of(
    lengths: tuple[int, ...],
    dropout: Dropout | None = None,
    *,
    multiple: int = 1,
    device: str | torch.device = "cpu",
    kernels: Kernels | None = None,
) -> FlatBatch:
    """Build a batch of sequences with the given lengths and no content."""
    total, count = sum(lengths), np.arange(len(lengths) + 1)
    zeros = np.zeros(total, dtype=np.int32)
    features = Features(zeros, zeros.astype(np.int8), np.cumsum([0, *lengths]), count, count[:-1], {})
    units, place = np.arange(len(lengths)), torch.device(device)
    return collate(features, units, place, dropout=dropout, multiple=multiple, kernels=kernels)


def drawn(batch: FlatBatch, heads: int, size: int, dtype: torch.dtype) -> torch.Tensor:
    """Draw queries, keys and values for a batch: (T, 3, heads, size)."""
    source = torch.Generator().manual_seed(size)
    return torch.randn(len(batch.tokens), 3, heads, size, generator=source, dtype=dtype, requires_grad=True)
