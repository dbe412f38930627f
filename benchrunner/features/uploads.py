"""Arrays to tensors on a device: on an accelerator, all arrays of a batch in one copy, without waiting."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

_ALIGNMENT = 16
"""Bytes to whose multiples the beginning of each array is moved in the buffer: no type of a tensor is larger."""


def on_device(arrays: Mapping[str, np.ndarray], device: torch.device) -> dict[str, torch.Tensor]:
    """Give arrays as tensors on a device. On the CPU the tensors share the memory of the arrays."""
    arrays = {name: np.ascontiguousarray(values) for name, values in arrays.items()}
    if device.type == "cpu":
        return {name: torch.from_numpy(values) for name, values in arrays.items()}
    return copied(arrays, device)


def tensor_on(values: np.ndarray, device: torch.device) -> torch.Tensor:
    """Give one array as a tensor on a device."""
    return on_device({"values": values}, device)["values"]


def copied(arrays: Mapping[str, np.ndarray], device: torch.device) -> dict[str, torch.Tensor]:
    """Copy contiguous arrays to a device in one piece; the tensors are views of the piece.

    The host goes on while the copy is under way. The buffer on the host may be freed at once: for each copy from pinned
    memory, torch records an event, and gives the memory out again only after the event. A CUDA graph would read the
    buffer again with each replay: an error is raised while a graph is recorded.
    """
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        raise RuntimeError(f"a CUDA graph cannot copy from memory of the host again ({', '.join(arrays)})")
    places = dict[str, slice]()
    size = 0
    for name, values in arrays.items():
        begin = size + -size % _ALIGNMENT
        size = begin + values.nbytes
        places[name] = slice(begin, size)
    buffer = torch.empty(size, dtype=torch.uint8, pin_memory=device.type == "cuda")
    content = buffer.numpy()
    for name, values in arrays.items():
        content[places[name]] = values.reshape(-1).view(np.uint8)
    there = buffer.to(device, non_blocking=True)
    tensors = dict[str, torch.Tensor]()
    for name, values in arrays.items():
        kind = torch.from_numpy(values).dtype
        tensors[name] = there[places[name]].view(kind).view(values.shape)
    return tensors
