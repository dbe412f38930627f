"""Computing: on which device fits are computed, and what they may cost in time and memory."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from benchrunner.errors import RequestError
from benchrunner.parameters.declared import Declared, parameter
from benchrunner.process.platform_facts import available_cores

if TYPE_CHECKING:
    import torch


@final
@dataclass(frozen=True)
class Computing(Declared):
    """How fits are computed. No field is part of a fit's id: records say in their numerics how a fit was computed."""

    device: str = parameter("auto", "cpu, cuda, cuda:1 or mps; auto is a GPU if torch can use one, else the CPU")
    checkpoint_seconds: float = parameter(
        120.0,
        "seconds between checkpoints of a fit: the most work that is lost if it is killed",
        at_least=0,
        option="checkpoint-every",
    )
    recompute: bool = parameter(
        False,
        "compute the layers of a trained encoder twice: less memory, a third more time, the same results",
    )
    cuda_graphs: bool = parameter(
        True,
        "launch the kernels of a training step on a CUDA GPU at once, where the model and the problem can; without, "
        "the last bits of results differ",
    )
    kernels: bool = parameter(True, "compute with compiled kernels of a plugin on a CPU, in place of torch")
    devices: int = parameter(
        1,
        "devices that compute the steps of one fit together, the first of which is --device: GPUs, or processes that "
        "share the cores of a CPU",
        at_least=1,
        at_most=1_024,
        option="devices-per-fit",
    )

    @property
    def on_cpu_alone(self) -> bool:
        """Whether one process computes a fit, and on a CPU. Otherwise a plugin may compute the steps: see `Team`."""
        return self.device == "cpu" and self.devices == 1

    def resolved(self) -> Computing:
        """Return these settings with the device that `auto` means; raise a `RequestError` if torch cannot use it."""
        return dataclasses.replace(self, device=_usable_device(self.device))

    def gpus(self, asked: float | None) -> float:
        """Return the number of GPUs that a fit asks a cluster for; `asked` is what the user says, None for nothing."""
        usual = 0 if self.device == "cpu" else self.devices
        if asked and asked != self.devices and max(asked, self.devices) > 1:
            raise RequestError(f"gpus={asked:g} is not the number of --devices-per-fit, {self.devices}.")
        return usual if asked is None else asked

    def check_devices(self, jobs: int = 1) -> None:
        """Raise a `RequestError` if this machine has too few devices for so many fits at the same time."""
        if self.devices == 1:
            return
        present, what = 1, f"device of the kind {self.device}"
        if self.device == "cpu":
            present, what = available_cores(), "core(s) for this process, whose number OMP_NUM_THREADS may set"
        elif self.device.startswith("cuda"):
            import torch

            present = torch.cuda.device_count() - (torch.device(self.device).index or 0)
            what = f"GPU(s) from {self.device} on"
        if jobs * self.devices > present:
            with_jobs = f" with --jobs {jobs}" if jobs > 1 else ""
            raise RequestError(
                f"--devices-per-fit {self.devices}{with_jobs} needs {jobs * self.devices} devices, and this machine "
                f"has {present} {what}."
            )


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
