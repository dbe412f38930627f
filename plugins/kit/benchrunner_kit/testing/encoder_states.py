"""States of an encoder for single texts and for batches, and how far two of them are apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch

from benchrunner.engine import Dropout, Encoder, Features, FlatBatch, Sequences, collate

TOLERANCE = 1e-4
"""Largest difference between states that should be equal but for rounding, as a share of the largest state."""


@final
@dataclass(frozen=True)
class States:
    """What an encoder computes for some sequences, in the order of the sequences."""

    layers: list[list[torch.Tensor]]
    """For each layer, the embeddings first, and each sequence: (tokens, hidden)."""
    summaries: torch.Tensor
    """What `summary` gives for the last states: (sequences, hidden)."""
    summarized: torch.Tensor
    """What `summarized` gives: (sequences, hidden)."""


def batch_of(
    sequences: Sequences, chosen: Sequence[int], *, dropout: Dropout | None = None, multiple: int = 1
) -> FlatBatch:
    """Make a batch of some of the sequences."""
    features = Features.of(sequences)
    return collate(features, np.array(chosen), torch.device("cpu"), dropout=dropout, multiple=multiple)


def states(encoder: Encoder, batch: FlatBatch) -> States:
    """Compute every layer of a batch, without gradients."""
    with torch.no_grad():
        layers = list(encoder.hidden_states(batch))
        summaries = [encoder.summary(layers[-1], batch), encoder.summarized(batch)]
    starts = batch.starts.tolist()
    order = batch.restore.tolist()
    of_sequences: list[list[torch.Tensor]] = []
    for layer in layers:
        of_sequences.append([layer[starts[place] : starts[place + 1]] for place in order])
    return States(
        of_sequences,
        # If they are too few, the check of shapes says so.
        *(vectors[batch.restore] if len(vectors) == len(order) else vectors for vectors in summaries),
    )


def distance(left: torch.Tensor, right: torch.Tensor) -> float:
    """Compute the largest difference, as a share of the largest value if this is above 1; infinite for other shapes."""
    if left.shape != right.shape:
        return float("inf")
    if not left.numel():
        return 0.0
    scale = max(1.0, float(left.abs().max()))
    gap = float((left.double() - right.double()).abs().max()) / scale
    return gap if gap == gap else float("inf")
