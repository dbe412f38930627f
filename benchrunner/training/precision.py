"""Precision: which devices compute products in bf16 themselves, and how models compute in it."""

from __future__ import annotations

import torch

_NATIVE_BF16 = 8
"""Major compute capability of NVIDIA's first GPUs with bf16 units (Ampere). Older GPUs, such as T4 and V100, emulate
bf16, and torch reports bf16 as supported there too."""

_BF16_UNITS = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
"""Functions of `torch.cpu` that say whether a processor has a unit for products in bf16."""


def precise(device: torch.device, precision: str) -> torch.autocast:
    """Let models compute in a recipe's precision inside a `with` block."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


def usual_precision(device: str) -> str:
    """Return the precision that `auto` means: bf16 on devices that compute it themselves, else fp32."""
    return "bf16" if computes_bf16(torch.device(device)) else "fp32"


def computes_bf16(device: torch.device) -> bool:
    """Whether a device computes products in bf16 itself; others compute them by way of fp32, which saves no time."""
    if device.type == "cuda":  # all of AMD's GPUs that torch supports have bf16
        return torch.version.hip is not None or torch.cuda.get_device_capability(device)[0] >= _NATIVE_BF16
    return device.type == "cpu" and any(getattr(torch.cpu, name, bool)() for name in _BF16_UNITS) and _is_right()


def _is_right() -> bool:
    """Whether a product in bf16 is that of fp32, rounded; its sums are whole numbers, which fp32 adds exactly."""
    left = torch.arange(64 * 64, dtype=torch.float32).reshape(64, 64) % 7 - 3
    right = left.T.roll(5, 0)
    return torch.equal(left.bfloat16() @ right.bfloat16(), (left @ right).bfloat16())


def emulation_note(device: torch.device) -> str:
    """Say that a GPU emulates bf16, which saves memory but no time; empty for other devices."""
    if device.type != "cuda" or computes_bf16(device):
        return ""
    return f"The GPU {torch.cuda.get_device_name(device)} emulates bf16, which is slower than --set precision=fp32."
