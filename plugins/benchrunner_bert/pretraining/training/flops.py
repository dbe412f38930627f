"""Floating-point operations of a pre-training step, and the share of a machine's speed that they reach."""

from __future__ import annotations

import time

import numpy as np
import torch

from benchrunner_bert.configuration import Configuration
from benchrunner_bert.elmo.configuration import ElmoConfiguration

BACKWARD = 2
"""Products of the backward pass for each product of the forward pass: gradients of its input and of its weight."""
_PEAK_SIZE = {"cpu": 1024}
"""Rows and columns of the product that `measured_peak` times; 8192 on an accelerator."""


def step_flops(config: Configuration, lengths: np.ndarray, predictions: int, *, next_sentence: bool) -> int:
    """Count the operations of the matrix products of a step, forward and backward, over sequences without padding.

    The count is what the model needs, not what a kernel computes: where attention looks one way only, the other
    half does not count, and a layer that is computed twice to save memory counts once.
    """
    hidden = config.hidden
    tokens = int(lengths.sum())
    linear = 2 * tokens * (4 * hidden**2 + 2 * hidden * config.inner)
    attention = 2 * 2 * hidden * _pairs(config, lengths)  # queries by keys, then probabilities by values
    heads = 2 * predictions * (hidden**2 + hidden * config.vocabulary)
    if next_sentence:
        heads += 2 * len(lengths) * (hidden**2 + 2 * hidden)
    return (1 + BACKWARD) * (config.layers * (linear + attention) + heads)


def elmo_step_flops(config: ElmoConfiguration, lengths: np.ndarray, predictions: int) -> int:
    """Count the operations of the matrix products of a step of an ELMo's two networks, forward and backward."""
    gates = 4 * config.cells * (config.width + config.width)
    projection = config.cells * config.width if config.cells > config.width else 0
    layers = 2 * 2 * int(lengths.sum()) * config.layers * (gates + projection)
    return (1 + BACKWARD) * (layers + 2 * predictions * config.width * config.vocabulary)


def _pairs(config: Configuration, lengths: np.ndarray) -> int:
    """Count the pairs (query, key) over which attention computes, in sequences of these lengths.

    In a sequence of n tokens they are n * n pairs, or n * (n + 1) / 2 if a token attends to one direction only.
    """
    lengths = lengths.astype(np.int64)
    pairs = lengths**2 if config.direction == "both" else lengths * (lengths + 1) // 2
    return int(pairs.sum())


def utilisation(flops: float, seconds: float, peak: float) -> float:
    """Give the share of a machine's measured peak, in operations per second, that a step reached."""
    return flops / seconds / peak


def measured_peak(device: torch.device, kind: torch.dtype, *, repeats: int = 5) -> float:
    """Measure the operations per second of a large square product; the fastest repeat counts.

    The numbers are random: with equal numbers a GPU needs less power, and reaches a speed that no training has.
    """
    size = _PEAK_SIZE.get(device.type, 8192)
    source = torch.Generator(device).manual_seed(0)
    left = torch.randn(size, size, generator=source, device=device).to(kind)
    right = torch.randn(size, size, generator=source, device=device).to(kind)
    fastest = min(_seconds(left, right) for _ in range(1 + repeats))
    return 2 * size**3 / fastest


def _seconds(left: torch.Tensor, right: torch.Tensor) -> float:
    started = time.perf_counter()
    # Reading a number of the result waits for the accelerator.
    (left @ right)[0, 0].item()
    return time.perf_counter() - started
