"""Numerics: how a fit was computed. Fits with equal identity and equal numerics have equal bits."""

from __future__ import annotations

import importlib.metadata
import platform
from typing import Any

import torch

from benchrunner.backbones.attention import implementation
from benchrunner.training.loop import Training


def of(training: Training) -> dict[str, Any]:
    """Describe how a finished training was computed, for its record."""
    device, threads = training.device, training.checkpoint.threads
    return {
        "device": device.type,
        "device_name": torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else platform.processor() or platform.machine(),
        # A list if the fit was resumed with another number of threads: its last bits may then differ.
        "threads": threads[0] if len(threads) == 1 else threads,
        "precision": training.recipe.precision,
        "attention": {"train": _kernel(training, dropping=True), "predict": _kernel(training, dropping=False)},
        "micro_tokens": training.micro_tokens,
        "micro_tokens_asked": training.recipe.micro_tokens,
        "versions": {name: importlib.metadata.version(name) for name in ("torch", "numpy", "tokenizers")},
        "python": platform.python_version(),
    }


def _kernel(training: Training, *, dropping: bool) -> str:
    kind = torch.bfloat16 if training.recipe.precision == "bf16" else torch.float32
    return str(getattr(implementation(training.device, kind, 64, dropping=dropping), "__name__", "?"))
