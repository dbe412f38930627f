"""The share of a machine's speed that a pre-training step reaches."""

from __future__ import annotations

import time

import torch


def utilisation(flops: float, seconds: float, peak: float) -> float:
    """Give the share of a machine's measured peak, in operations per second, that a step reached."""
    return flops / seconds / peak


def measured_peak(device: torch.device, kind: torch.dtype, *, repeats: int = 5) -> float:
    """Measure the operations per second of a large square product; the fastest repeat counts.

    The numbers are random: with equal numbers a GPU needs less power, and reaches a speed that no training has.
    """
    size = 1024 if device.type == "cpu" else 8192
    source = torch.Generator(device).manual_seed(0)
    left = torch.randn(size, size, generator=source, device=device).to(kind)
    right = torch.randn(size, size, generator=source, device=device).to(kind)
    return 2 * size**3 / min(_seconds(left, right) for _ in range(1 + repeats))


def _seconds(left: torch.Tensor, right: torch.Tensor) -> float:
    started = time.perf_counter()
    # Reading a number of the result waits for the accelerator.
    (left @ right)[0, 0].item()
    return time.perf_counter() - started
