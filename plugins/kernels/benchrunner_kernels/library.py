"""The compiled library: which of its levels this processor has, and calls of its functions over tensors' memory."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any, final

import torch
from torch import Tensor

LEVELS = {"AVX512": "avx512", "AVX2": "avx2"}
"""Capability of the processor as torch names it -> level of the functions; other processors have `base`."""
TYPES = {torch.float32: "float", torch.bfloat16: "brain"}
"""Type of a tensor -> end of the functions' names."""


@final
class Library:
    """The functions of one level in the compiled library, which get pointers, sizes, and torch's threads."""

    def __init__(self, file: Path) -> None:
        """Load the library; raise an `OSError` if this machine cannot."""
        self._functions = ctypes.CDLL(str(file))
        capability = torch.backends.cpu.get_cpu_capability()
        level = LEVELS.get(capability, "base")
        self.level = level if hasattr(self._functions, f"attention_{level}_float") else "base"

    def call(self, name: str, kind: torch.dtype, *arguments: Tensor | int | float | None) -> None:
        """Call the function `name` for a type of numbers. Tensors must be contiguous.

        Raises an `AttributeError` if the library was compiled from earlier sources, without the function.
        """
        function = getattr(self._functions, f"{name}_{self.level}_{TYPES[kind]}")
        threads = torch.get_num_threads()
        begin = _beginning_of_threads() if threads > 1 else None
        failed = function(*map(_passed, arguments), begin, ctypes.c_int(threads))
        if failed:
            raise MemoryError(f"{name}: not enough memory")


def _passed(argument: Tensor | int | float | None) -> Any:
    """Turn an argument into what C gets: a pointer, which None leaves out, a 64-bit number, or a double."""
    if argument is None:
        return ctypes.c_void_p()
    if isinstance(argument, Tensor):
        return ctypes.c_void_p(argument.data_ptr())
    return ctypes.c_int64(argument) if isinstance(argument, int) else ctypes.c_double(argument)


@cache
def _beginning_of_threads() -> ctypes.c_void_p | None:
    """Find the function with which torch's own OpenMP begins parallel work; None where it cannot be found.

    The kernels run in torch's threads, so that a process has no second pool of them. A process may have several copies
    of OpenMP, so the function is looked up from the library that holds torch's operators.
    """
    try:
        torch_library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
        return ctypes.cast(torch_library.GOMP_parallel, ctypes.c_void_p)
    except (AttributeError, OSError):
        return None
