"""Read tensors without running code, and refuse what no model can be made of."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import CheckpointError
from benchrunner.engine import first_line, not_finite, platform_facts

if TYPE_CHECKING:
    from torch import Tensor

SHOWN_FAULTS = 20
"""Number of faults that an error lists."""
_ALIGNMENT = 64
"""Bytes: the memory of a new tensor begins at a multiple of this number."""


def read_tensors(*paths: Path) -> dict[str, Tensor]:
    """Read all tensors of safetensors files, or of .bin files with torch's weights_only loader.

    Products of matrices depend on where in memory these begin. So each tensor begins where torch lets new ones begin,
    and equal weights compute equal numbers, whatever files they are read from.
    """
    tensors = _read(paths, "cpu")
    for name, tensor in tensors.items():
        if tensor.data_ptr() % _ALIGNMENT:
            tensors[name] = tensor.clone()
    return tensors


def read_shapes(*paths: Path) -> dict[str, Tensor]:
    """Read names, shapes and types of all tensors; the tensors are on torch's meta device, without memory."""
    return _read(paths, "meta")


def _read(paths: Iterable[Path], device: str) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    for path in paths:
        try:
            if not path.is_file():
                raise ValueError("it is not a regular file")
            tensors |= _safetensors(path, device) if path.suffix == ".safetensors" else _pickle(path, device)
        except Exception as error:  # both loaders raise many kinds of errors for a damaged or foreign file
            raise CheckpointError(f"{path}: the weights cannot be read: {first_line(error)}") from None
    return tensors


def check_header(path: Path) -> None:
    """Raise a `CheckpointError` if the header of a safetensors file contradicts its size, before it is read whole."""
    if path.suffix == ".safetensors":
        _read([path], "header")


def check_size(config: Path, weights: int, files: Iterable[Path], *, buffers: int = 0) -> None:
    """Raise a `CheckpointError` if files are too small for so many weights, or memory for these weights in fp32.

    `config` describes the weights; `buffers` is the number of further bytes of the model.
    """
    size = sum(file.stat().st_size for file in files)
    if weights > size:
        raise CheckpointError(f"{config} describes {weights:,} weights; the files of weights have only {size:,} bytes.")
    needed = 4 * weights + buffers
    memory = platform_facts.memory_size()
    if needed > memory:
        raise CheckpointError(
            f"{config} describes a model of {needed / 1e9:,.1f} GB; this process can have {memory / 1e9:,.1f} GB of "
            "memory."
        )


def _safetensors(path: Path, device: str) -> dict[str, Tensor]:
    from safetensors import safe_open

    shapes: dict[str, Tensor] = {}
    with safe_open(path, framework="np") as content:
        if device == "header":
            return shapes
        import torch
        from safetensors.torch import load_file

        if device != "meta":
            return load_file(path)
        kinds = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
        for name in content.keys():  # noqa: SIM118
            part = content.get_slice(name)
            kind = kinds.get(part.get_dtype(), torch.uint8)
            shapes[name] = torch.empty(part.get_shape(), dtype=kind, device="meta")
    return shapes


def _pickle(path: Path, device: str) -> dict[str, Tensor]:
    import torch

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > path.stat().st_size:  # torch stores tensors as they are
            raise ValueError(f"it would grow to {size:,} bytes when it is read")
    tensors = torch.load(path, map_location=device, weights_only=True)
    if not isinstance(tensors, Mapping) or not all(
        isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in tensors.items()
    ):
        raise ValueError("a flat table of tensors was expected")
    return dict(tensors)


def check_types(origin: Path, tensors: Mapping[str, Tensor]) -> None:
    """Raise a `CheckpointError` for a weight that is no floating-point number of 16 to 64 bits."""
    import torch

    floats = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    refuse(
        f"{origin} holds weights that are not floating-point numbers of 16, 32 or 64 bits",
        (f"{name} ({_type(tensor)})" for name, tensor in tensors.items() if tensor.dtype not in floats),
    )


def _type(tensor: Tensor) -> str:
    return "an integer, a truth value or quantized" if tensor.is_meta else str(tensor.dtype).removeprefix("torch.")


def check_finite(origin: Path, tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Raise a `CheckpointError` for a weight that holds a NaN or an infinity."""
    refuse(f"{origin} holds values that are not finite numbers", not_finite(tensors))


def refuse(reason: str, faults: Iterable[str]) -> None:
    """Raise a `CheckpointError` that lists the first faults; nothing happens where there are none."""
    lines = [f"  - {fault}" for fault in faults]
    if not lines:
        return
    if more := len(lines[SHOWN_FAULTS:]):
        lines[SHOWN_FAULTS:] = [f"  - ... and {more} more"]
    raise CheckpointError("\n".join([f"{reason}:", *lines]))
