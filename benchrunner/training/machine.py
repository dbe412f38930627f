"""The machine that trains: denormal numbers flushed to zero, freed memory kept, bf16 that a GPU only emulates."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import torch

Denormals = Literal["flushed", "flushed by one thread", "kept"]
"""What becomes of denormal numbers on the CPU; part of the numerics. "By one thread": only by the training's own."""
_KEPT = {-3: 2**30, -1: 2**30, -2: 2**26}
"""M_MMAP_THRESHOLD, M_TRIM_THRESHOLD and M_TOP_PAD of malloc.h -> their value in bytes."""
_NATIVE_BF16 = 8
"""Major compute capability of NVIDIA's first GPUs with bf16 units (Ampere). Older GPUs, such as T4 and V100, emulate
bf16, and torch reports bf16 as supported there too."""

_BF16_UNITS = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
"""Functions of `torch.cpu` that say whether a processor has a unit for products in bf16."""


@contextlib.contextmanager
def flushed_denormals() -> Iterator[Denormals]:
    """Flush denormal numbers to zero in the `with` block, in this thread and in the threads that compute for it.

    Adam's moments of a word that was not seen for some hundreds of steps are denormal, and a step takes four times as
    long with them. At the end of the block, all these threads flush or keep denormals as this thread did before.
    """
    before = are_flushed()
    try:
        yield _flush(True)
    finally:
        _flush(before)


def are_flushed() -> bool:
    """Whether this thread flushes denormal numbers to zero."""
    smallest = sys.float_info.min  # the smallest number that is not denormal
    return smallest / 2 == 0.0


def _flush(flush: bool) -> Denormals:
    """Let this thread and the threads that compute for it flush or keep denormals; return what became of them.

    The setting belongs to a thread. A new thread has that of the thread that started it, but the threads of OpenMP may
    have started already, so the setting is changed in each of them.
    """

    def tell_thread() -> None:
        torch.set_flush_denormal(flush)

    tell_thread()
    if not are_flushed():  # as asked, or because the processor cannot flush them
        _in_all_threads(tell_thread)
        return "kept"
    return "flushed" if _in_all_threads(tell_thread) else "flushed by one thread"


def _in_all_threads(call: Callable[[], None]) -> bool:
    """Call a function in each thread in which torch computes for this thread; False where they cannot be reached.

    The function with which compiled code begins a parallel region is the same in the OpenMP libraries of GNU and LLVM.
    """
    if torch.get_num_threads() == 1:
        return True
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    try:
        # Looked up from the library that holds torch's operators: a process may have several copies of OpenMP.
        begin = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so")).GOMP_parallel
    except (AttributeError, OSError):
        return False
    begin.argtypes = [kind, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint]
    begin.restype = None
    begin(kind(lambda _: call()), None, torch.get_num_threads(), 0)
    return True


def keep_freed_memory() -> bool:
    """Let this process keep freed memory instead of giving it back to the kernel; return whether it does.

    A training step frees large tensors, and the next step asks for them again. With glibc's own settings the kernel
    takes the pages back and gives out new ones that it fills with zeros: 8 to 15% of a short step on a CPU. Other C
    libraries have no such settings, and are left as they are.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    answers = [set_option(setting, value) for setting, value in _KEPT.items()]
    return 0 not in answers


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


def emulates_bf16(device: torch.device) -> bool:
    """Whether a device is a GPU without units for bf16, which saves memory but no time."""
    return device.type == "cuda" and not computes_bf16(device)


def emulation_note(device: torch.device) -> str:
    """Say that a GPU emulates the precision that was asked for."""
    return f"The GPU {torch.cuda.get_device_name(device)} emulates bf16, which is slower than --set precision=fp32."


def resolved_precision(name: str, device: str) -> str:
    """Return the precision that a name means; `auto` is bf16 on devices that compute it themselves, else fp32."""
    if name != "auto":
        return name
    return "bf16" if computes_bf16(torch.device(device)) else "fp32"
