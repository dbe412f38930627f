"""Pairs of training rows, whose vectors are to be near each other or not, and how near they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from benchrunner import FitError
from benchrunner.engine import Encoder, Features, FlatBatch, arrays, blocks, randomness
from benchrunner_methods.text_vectors import batch_vectors

if TYPE_CHECKING:
    from benchrunner.engine import Job


def paired(features: Features, count: int, *, seed: int) -> Features:
    """Make units of two rows: for each row, `count` with rows of its label, and as many with rows of others.

    The target "label" of a pair is 1 if its rows have one label, else 0.
    """
    rows, targets = drawn_pairs(features.targets["label"], count, seed=seed)
    lengths = features.lengths[rows]
    positions = blocks.ranges(features.starts[rows], lengths)
    return Features(
        tokens=features.tokens[positions],
        segments=features.segments[positions],
        starts=arrays.borders(lengths),
        groups=np.arange(0, len(rows) + 1, 2),
        owner=rows,
        targets={"label": targets},
    )


def drawn_pairs(labels: np.ndarray, count: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw `count` pairs of each kind for each row: with rows of its label, whose target is 1, and of others, 0.

    Return the rows one pair after another, int64 (2 pairs,), and the targets, fp32 (pairs,). A row is no partner of
    itself: there are fewer pairs where no other row has the label, or all have.
    """
    source = np.random.Generator(np.random.PCG64(randomness.derived(seed, "pairs")))
    rows = list[int]()
    targets = list[float]()
    for row, label in enumerate(labels):
        for target in (1.0, 0.0):
            partners = np.flatnonzero((labels == label) == target)
            partners = partners[partners != row]
            for partner in source.choice(partners, count if len(partners) else 0):
                rows += [row, int(partner)]
                targets.append(target)
    if not rows:
        raise FitError("The method 'setfit' compares training rows, and there is one only. Choose --method probe.")
    return np.array(rows, dtype=np.int64), np.array(targets, dtype=np.float32)


def similarities(encoder: Encoder, job: Job, batch: FlatBatch) -> torch.Tensor:
    """Compute the cosine of the two rows of each unit: (units, 1)."""
    vectors = batch_vectors(encoder, job, batch)
    return functional.cosine_similarity(vectors[::2], vectors[1::2])[:, None]
