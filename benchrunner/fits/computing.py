"""Computing: on which device fits are computed, and what they may cost in time and memory."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner.errors import RequestError

if TYPE_CHECKING:
    import torch


@final
@dataclass(frozen=True)
class Computing:
    """How fits are computed. No field is part of a fit's id: records say in their numerics how a fit was computed."""

    device: str = "auto"
    """Name of the device for torch, such as "cpu" or "cuda:1". `auto` is a GPU if torch can use one, else the CPU."""
    checkpoint_seconds: float = 120.0
    """Seconds of training between two checkpoints: the most work that a killed fit can lose."""
    recompute: bool = False
    """Whether the backward pass computes a trained encoder's layers again: less memory, the same results."""
    cuda_graphs: bool = True
    """Whether a CUDA GPU computes training steps by CUDA graphs, where the model and the problem can."""
    kernels: bool = True
    """Whether the kernels that a plugin offers compute some operators on a CPU, in place of torch."""

    def __post_init__(self) -> None:
        if not self.checkpoint_seconds >= 0:
            raise RequestError(
                f"--checkpoint-every must be a number of seconds from zero up, not {self.checkpoint_seconds}."
            )

    def resolved(self) -> Computing:
        """Return these settings with the device that `auto` means; raise a `RequestError` if torch cannot use it."""
        return dataclasses.replace(self, device=_usable_device(self.device))


def _usable_device(name: str) -> str:
    """Return the device that a name means, as torch spells it; raise a `RequestError` if torch cannot use it.

    GPUs are counted, and nothing is allocated on them: a process that only hands out work takes none of their memory.
    """
    import torch

    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        place = torch.device(name)
        if place.type != "cuda":
            torch.empty(0, device=place)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        if reason.startswith("Expected one of"):  # and then torch lists twenty kinds of devices
            reason = "torch knows no such device"
        raise RequestError(f"Device '{name}' cannot be used: {reason}. Name auto, cpu, cuda, cuda:1 or mps.") from None
    if place.type == "cuda":
        _check_gpu(name, place)
    return name


def _check_gpu(name: str, place: torch.device) -> None:
    """Raise a `RequestError` if torch has no such GPU."""
    import torch

    if not torch.cuda.is_available():
        raise RequestError(f"Device '{name}' cannot be used: {_no_gpu()}. Give --device cpu or auto.")
    count = torch.cuda.device_count()
    if str(place) != name or (place.index or 0) >= count:  # torch counts to 127, and then from -128
        names = "cuda:0" if count == 1 else f"cuda:0 to cuda:{count - 1}"
        raise RequestError(f"Device '{name}' cannot be used: torch sees {count} GPU(s), {names}.")


def _no_gpu() -> str:
    """Say why torch can use no GPU: its build cannot use any, or it sees none on this machine."""
    import torch

    if torch.version.cuda is None and torch.version.hip is None:
        return f"the installed torch {torch.__version__} is built without CUDA; install a build of torch with CUDA"
    return "torch sees no GPU on this machine; 'nvidia-smi' shows whether its driver does"
