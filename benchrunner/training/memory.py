"""Memory: freed memory is kept, and what did not fit is computed in smaller parts."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np
import torch

from benchrunner.errors import FitError
from benchrunner.features.flat_batch import micro_batches

T = TypeVar("T")

_KEPT = {-3: 2**30, -1: 2**30, -2: 2**26}
"""M_MMAP_THRESHOLD, M_TRIM_THRESHOLD and M_TOP_PAD of malloc.h -> their value in bytes."""
_MESSAGES = (
    "can't allocate memory",  # torch's allocator for the CPU
    "CUDA error: out of memory",  # the driver, where torch does not allocate itself: a context, a kernel's own memory
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
    "CUSOLVER_STATUS_ALLOC_FAILED",
    "HIP error: out of memory",
    "HIP out of memory",
    "MPS backend out of memory",
)
"""Parts of the messages of out-of-memory errors that are plain `RuntimeError`s."""


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


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that the memory of the device, or of the host, is not enough."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(message in str(error) for message in _MESSAGES)


def halved(
    units: np.ndarray,
    tokens: np.ndarray,
    budget: int,
    device: torch.device,
) -> int:
    """Return a smaller token budget for units that did not fit, and let torch give back the memory that it keeps.

    `tokens` holds the number of tokens of every unit. Raises a `FitError` if a part is a single unit already.
    """
    largest = int(tokens[units].max())
    used = min(budget, int(tokens[units].sum()))
    if used <= largest:
        raise FitError(
            f"Out of memory on {device} with a single unit of {largest} tokens: "
            "use a shorter max_length, a smaller backbone or another device."
        )
    if device.type == "cuda":  # cuBLAS and cuDNN take memory that torch does not keep
        torch.cuda.empty_cache()
    return used // 2


def computed_in_parts(
    compute: Callable[[np.ndarray], T],
    tokens: np.ndarray,
    budget: int,
    device: torch.device,
) -> Iterator[tuple[np.ndarray, T]]:
    """Compute something for all units, in parts of at most `budget` tokens, or less where memory runs out.

    `tokens` holds the number of tokens of every unit. Yields each part's units with the result.
    """
    parts = micro_batches(np.arange(len(tokens)), tokens, budget)
    while parts:
        result = _attempt(partial(compute, parts[0]))
        if result:
            yield parts.pop(0), result.pop()
            continue
        budget = halved(parts[0], tokens, budget, device)
        smaller = [micro_batches(part, tokens, budget) for part in parts]
        parts = list(chain.from_iterable(smaller))


def _attempt(compute: Callable[[], T]) -> list[T]:
    """Return the result in a list, or an empty list if memory ran out.

    When this function has ended, nothing refers to the traceback of the error, which keeps the tensors of the failed
    part in memory.
    """
    try:
        return [compute()]
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        return []
