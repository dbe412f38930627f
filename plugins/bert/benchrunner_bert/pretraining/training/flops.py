"""What a step of pre-training costs in floating-point operations, and how much of a machine's speed that is."""

from __future__ import annotations

import time

import numpy as np
import torch

from benchrunner_bert.configuration import Configuration

BACKWARD = 2
"""Products on the way back for each one forward: one for the gradient of its input, one for its weight's."""
_PEAK_SIZE = {"cpu": 1024}
"""Rows and columns of the product that `measured_peak` times; 8192 on an accelerator."""


def step_flops(config: Configuration, lengths: np.ndarray, predictions: int, *, next_sentence: bool) -> int:
    """Of one step over sequences of these lengths, forward and backward: matrix products alone, nothing padded.

    What the model needs, not what a kernel computes: with attention that looks left only, the half that is not
    looked at does not count, and neither does a layer that is computed twice to save memory.
    """
    hidden, tokens = config.hidden, int(lengths.sum())
    linear = 2 * tokens * (4 * hidden**2 + 2 * hidden * config.inner)
    attention = 2 * 2 * hidden * _pairs(config, lengths)  # queries by keys, then probabilities by values
    heads = 2 * predictions * (hidden**2 + hidden * config.vocabulary)
    if next_sentence:
        heads += 2 * len(lengths) * (hidden**2 + 2 * hidden)
    return (1 + BACKWARD) * (config.layers * (linear + attention) + heads)


def _pairs(config: Configuration, lengths: np.ndarray) -> int:
    """How many tokens all tokens look at."""
    lengths = lengths.astype(np.int64)
    return int((lengths * (lengths + 1) // 2 if config.left_only else lengths**2).sum())


def utilisation(flops: float, seconds: float, peak: float) -> float:
    """The share of a machine's measured peak, in operations a second, that a step reached."""
    return flops / seconds / peak


def measured_peak(device: torch.device, kind: torch.dtype, *, repeats: int = 5) -> float:
    """Operations a second in one large square product: the best of a few, since a busy machine only adds time."""
    size = _PEAK_SIZE.get(device.type, 8192)
    left, right = (torch.ones(size, size, dtype=kind, device=device) for _ in range(2))
    return 2 * size**3 / min(_seconds(left, right) for _ in range(1 + repeats))


def _seconds(left: torch.Tensor, right: torch.Tensor) -> float:
    started = time.perf_counter()
    # Reading one number waits for an accelerator.
    (left @ right)[0, 0].item()
    return time.perf_counter() - started
