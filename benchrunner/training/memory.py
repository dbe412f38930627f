"""Memory that runs out: how libraries say so, and smaller parts for what did not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TypeVar

import numpy as np
import torch

from benchrunner.errors import FitError
from benchrunner.features.flat_batch import micro_batches

T = TypeVar("T")

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
