"""Settings of torch for the whole process: who changes them when a plugin is imported changes all fits."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

_Setting = tuple[Callable[[Any], Any], Callable[[Any, Any], object], Any]

SETTINGS: Mapping[str, _Setting] = {
    "float32 matmul precision": (
        lambda torch: torch.get_float32_matmul_precision(),
        lambda torch, value: torch.set_float32_matmul_precision(value),
        "highest",
    ),
    "deterministic debug mode": (
        lambda torch: torch.get_deterministic_debug_mode(),
        lambda torch, value: torch.set_deterministic_debug_mode(value),
        0,
    ),
    "default dtype": (
        lambda torch: str(torch.get_default_dtype()).removeprefix("torch."),
        lambda torch, value: torch.set_default_dtype(getattr(torch, value)),
        "float32",
    ),
    "default device": (
        lambda torch: str(torch.get_default_device()),
        lambda torch, value: torch.set_default_device(None if value == "cpu" else value),
        "cpu",
    ),
    "autocast on the CPU": (
        lambda torch: torch.is_autocast_enabled("cpu"),
        lambda torch, value: torch.set_autocast_enabled("cpu", value),
        False,
    ),
    "autocast on GPUs": (
        lambda torch: torch.is_autocast_enabled("cuda"),
        lambda torch, value: torch.set_autocast_enabled("cuda", value),
        False,
    ),
}
"""Name of a setting -> how it is read and set, and torch's own default."""


def torch_settings() -> dict[str, Any]:
    """Return the values of the settings; torch's defaults if it is not loaded."""
    torch = sys.modules.get("torch")
    return {name: default if torch is None else read(torch) for name, (read, _, default) in SETTINGS.items()}


def unusual_settings() -> dict[str, Any]:
    """Return the settings that have other values than torch's defaults."""
    return {name: value for name, value in torch_settings().items() if value != SETTINGS[name][2]}


def reset_torch(before: Mapping[str, Any]) -> dict[str, Any]:
    """Set torch's settings to the values that they had; return the values that this replaced."""
    torch = sys.modules.get("torch")
    changed = {name: value for name, value in torch_settings().items() if value != before[name]}
    for name in changed:
        SETTINGS[name][1](torch, before[name])
    return changed
