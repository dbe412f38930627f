"""Numerics: how a fit was computed. Fits with equal identity and equal numerics have equal bits."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import platform
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from benchrunner.backbones.encoder import Encoder
from benchrunner.features.kernels import Kernels, described as named
from benchrunner.features.randomness import torch_draws_masks
from benchrunner.parameters.recipes import Recipe
from benchrunner.process.torch_settings import unusual_settings
from benchrunner.training.loop import Training

_VECTOR_UNITS = ("avx2", "avx512", "avx512_bf16", "vnni", "amx_tile", "amx_fp16")
_KERNEL_CHOICES = (
    "ATEN_CPU_CAPABILITY",
    "DNNL_MAX_CPU_ISA",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_MAX_CPU_ISA",
)
"""Environment variables by which users choose the kernels of a processor."""


def of(training: Training) -> dict[str, Any]:
    """Describe how a finished training was computed, for its record."""
    device = training.device
    recipe = training.recipe
    # A list where the fit was resumed with other threads, kernels or devices: its last bits may then differ.
    computed = {name: used[0] if len(used) == 1 else list(used) for name, used in training.checkpoint.computed.items()}
    budgets = list(map(list, training.budgets.items()))
    captured = list(map(list, training.captured.items()))
    described = {
        **_machine(device, recipe),
        **computed,
        "attention": _attention(training.means.encoders, device, recipe, training.kernels, train=True, predict=False),
        "denormals": training.denormals if device.type == "cpu" else "kept",
        # Pairs of a step and a budget if memory ran out after the first step: dropout is drawn for each micro-batch.
        "micro_tokens": training.micro_tokens if len(budgets) == 1 else budgets,
        "micro_tokens_asked": recipe.micro_tokens,
        "versions": _versions(training.modules.values()),
    }
    if torch_draws_masks(device):  # on the CPU numpy draws them
        described["dropout_masks"] = "torch"
    if any(training.captured.values()):
        # Pairs of a step and whether graphs were used from there on, if this changed: shapes change the last bits.
        described["cuda_graphs"] = captured if len(captured) > 1 else True
    return described


def of_frozen(
    device_name: str,
    recipe: Recipe,
    encoder: Encoder,
    *,
    libraries: Sequence[str] = (),
    kernels: Kernels | None = None,
) -> dict[str, Any]:
    """Describe how a frozen encoder is computed, and with which `libraries` a head over its states is fitted."""
    device = torch.device(device_name)
    return {
        **_machine(device, recipe),
        "kernels": named(kernels),
        "threads": torch.get_num_threads(),
        "attention": _attention([encoder], device, recipe, kernels, predict=False),
        "micro_tokens": recipe.micro_tokens,
        "micro_tokens_asked": recipe.micro_tokens,
        "versions": _versions([encoder], *libraries),
        **({"blas": _blas()} if libraries else {}),
    }


def _blas() -> list[str]:
    """Describe the loaded libraries of linear algebra: each has kernels for a kind of processor, which users choose."""
    from threadpoolctl import threadpool_info

    libraries = (pool for pool in threadpool_info() if pool["user_api"] == "blas")
    return sorted(f"{pool['prefix']} {pool['version']} {pool.get('architecture')}" for pool in libraries)


def _machine(device: torch.device, recipe: Recipe) -> dict[str, Any]:
    """Describe what computes: results may differ in their last bits with each of these facts."""
    machine: dict[str, Any] = {
        "device": device.type,
        "precision": recipe.precision,
        "python": platform.python_version(),
    }
    if unusual := unusual_settings():
        machine["torch_settings"] = unusual
    if device.type != "cuda":
        return machine | _processor()
    return machine | {
        "device_name": torch.cuda.get_device_name(device),
        "capability": ".".join(map(str, torch.cuda.get_device_capability(device))),
        "cuda": torch.version.cuda or f"ROCm {torch.version.hip}",
        "cudnn": torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
    }


def _processor() -> dict[str, Any]:
    """Describe the processor and what chooses its kernels: torch, MKL and oneDNN have others for other vector units."""
    chosen = {name: os.environ[name] for name in _KERNEL_CHOICES if name in os.environ}
    return {
        "device_name": platform.processor() or platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "vector_units": [unit for unit in _VECTOR_UNITS if getattr(torch.cpu, f"_is_{unit}_supported", bool)()],
        **({"kernel_choices": chosen} if chosen else {}),
    }


_version = functools.cache(importlib.metadata.version)  # which reads half a millisecond for each library and fit


def _versions(modules: Iterable[nn.Module], *further: str) -> dict[str, str]:
    """Return the versions of the libraries that compute the encoder's states, and of `further` ones."""
    names = ["torch", "numpy", "tokenizers", *further]
    for module in modules:
        for part in module.modules():
            names += getattr(part, "libraries", ())
    return {name: _version(name) for name in names}


def _attention(
    encoders: Sequence[Encoder],
    device: torch.device,
    recipe: Recipe,
    kernels: Kernels | None,
    **passes: bool,
) -> dict[str, str]:
    """Name what computes attention in each of the passes, which are given with whether they drop values."""
    compiled = kernels is not None and "attend" in kernels.operators
    described = dict[str, str]()
    for name, dropping in passes.items():
        for encoder in encoders:
            own = encoder.attention_kernel(device, recipe.precision, dropping=dropping)
            described[name] = "compiled" if compiled else own
    return described
