"""Resolve `auto` for devices and precisions."""

from __future__ import annotations

from benchrunner.errors import RequestError


def resolve_device(name: str) -> str:
    """Return the device that a name means, as torch spells it; `auto` is a GPU if torch can use one, else the CPU.

    Raises a `RequestError` if torch cannot allocate on the device.
    """
    import torch

    device = name if name != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        if reason.startswith("Expected one of"):  # and then torch lists twenty kinds of devices
            reason = "torch knows no such device"
        if device.partition(":")[0] == "cuda" and not torch.cuda.is_available():
            raise RequestError(f"Device '{device}' cannot be used: {_no_gpu()}. Give --device cpu or auto.") from None
        raise RequestError(f"Device '{device}' cannot be used: {reason}. Name auto, cpu, cuda or cuda:1.") from None
    return device


def _no_gpu() -> str:
    """Say why torch can use no GPU: its build cannot use any, or it sees none on this machine."""
    import torch

    if torch.version.cuda is None and torch.version.hip is None:
        return f"the installed torch {torch.__version__} is built without CUDA; install a build of torch with CUDA"
    return "torch sees no GPU on this machine; 'nvidia-smi' shows whether its driver does"


def resolve_precision(name: str, device: str) -> str:
    """Return the precision that a name means; `auto` is bf16 on GPUs that support it, and fp32 elsewhere."""
    if name != "auto":
        return name
    import torch

    return "bf16" if device.startswith("cuda") and torch.cuda.is_bf16_supported() else "fp32"
