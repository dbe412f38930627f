"""Denormal numbers: a processor takes many times as long to compute with them, so they are flushed to zero."""

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
