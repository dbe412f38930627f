"""Precisions of matrix products: which of them a device computes itself."""

from __future__ import annotations

import torch

_NATIVE_BF16 = 8
"""Major compute capability of NVIDIA's first GPUs with bf16 units (Ampere). Older GPUs, such as T4 and V100, emulate
bf16, and torch reports bf16 as supported there too."""


def emulates_bf16(device: torch.device) -> bool:
    """Whether a device is a GPU that computes bf16 by way of fp32, which saves memory but no time."""
    if device.type != "cuda" or torch.version.hip is not None:  # all of AMD's GPUs that torch supports have bf16
        return False
    major: int = torch.cuda.get_device_capability(device)[0]
    return major < _NATIVE_BF16


def emulation_note(device: torch.device) -> str:
    """Say that a GPU emulates the precision that was asked for."""
    return f"The GPU {torch.cuda.get_device_name(device)} emulates bf16, which is slower than --precision fp32."


def resolved_precision(name: str, device: str) -> str:
    """Return the precision that a name means; `auto` is bf16 on GPUs that have bf16 units, and fp32 elsewhere."""
    if name != "auto":
        return name
    place = torch.device(device)
    return "bf16" if place.type == "cuda" and not emulates_bf16(place) else "fp32"
