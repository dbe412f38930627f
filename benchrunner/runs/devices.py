"""Devices: what their names mean, which GPU each worker process has, and which precision `auto` is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from benchrunner.errors import RequestError

if TYPE_CHECKING:
    import torch


def resolve_device(name: str) -> str:
    """Return the device that a name means, as torch spells it; `auto` is a GPU if torch can use one, else the CPU.

    GPUs are counted, and nothing is allocated on them: a process that only hands out work takes none of their memory.
    Raises a `RequestError` if torch cannot use the device.
    """
    import torch

    device = name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(device)
        if place.type != "cuda":
            torch.empty(0, device=place)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        if reason.startswith("Expected one of"):  # and then torch lists twenty kinds of devices
            reason = "torch knows no such device"
        raise RequestError(f"Device '{device}' cannot be used: {reason}. Name auto, cpu, cuda or cuda:1.") from None
    if place.type == "cuda":
        _check_gpu(device, place)
    return device


def _check_gpu(name: str, place: torch.device) -> None:
    """Raise a `RequestError` if torch has no such GPU."""
    import torch

    if not torch.cuda.is_available():
        raise RequestError(f"Device '{name}' cannot be used: {_no_gpu()}. Give --device cpu or auto.")
    count = torch.cuda.device_count()
    if str(place) != name or (place.index or 0) >= count:  # torch counts to 127, and then from -128
        names = "cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        raise RequestError(f"Device '{name}' cannot be used: torch sees {count} GPU(s), {names}.")


def make_current(device: str) -> None:
    """Make a GPU that is named by its number the current GPU of this process.

    Memory for transfers, and libraries that know only the current GPU, would otherwise take memory of the first GPU.
    cuBLAS gets a workspace of fixed size: without it, cuBLAS may add up numbers in a different order each time when
    cuDNN computes an LSTM.
    """
    import torch

    place = torch.device(device)
    if place.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    if place.type == "cuda" and place.index is not None:
        torch.cuda.set_device(place)


def worker_devices(device: str, jobs: int) -> list[str]:
    """Return the device of each of several worker processes: the GPUs in turn, if `device` is any GPU."""
    import torch

    count = torch.cuda.device_count() if device == "cuda" else 0
    return [f"cuda:{job % count}" if count > 1 else device for job in range(jobs)]


def _no_gpu() -> str:
    """Say why torch can use no GPU: its build cannot use any, or it sees none on this machine."""
    import torch

    if torch.version.cuda is None and torch.version.hip is None:
        return f"the installed torch {torch.__version__} is built without CUDA; install a build of torch with CUDA"
    return "torch sees no GPU on this machine; 'nvidia-smi' shows whether its driver does"


def resolve_precision(name: str, device: str) -> str:
    """Return the precision that a name means; `auto` is bf16 on GPUs that have bf16 units, and fp32 elsewhere."""
    if name != "auto":
        return name
    import torch

    from benchrunner.training.precision import emulates_bf16

    place = torch.device(device)
    return "bf16" if place.type == "cuda" and not emulates_bf16(place) else "fp32"
