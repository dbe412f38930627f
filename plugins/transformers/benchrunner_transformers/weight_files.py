"""Files of weights: find them, read names and shapes without taking memory, and read the tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import CheckpointError, first_line, shard_files

if TYPE_CHECKING:
    import torch

WEIGHTS = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)
"""Files of weights; the first that exists is read. An index lists several files.

Only torch's weights_only loader opens a .bin file.
"""
SUMMARY = "summary.safetensors"
"""File in the folder of a fit with the weights between encoder and output layer."""


def weight_files(folder: Path) -> list[Path]:
    """Find the files of a model's weights."""
    for name in WEIGHTS:
        if (path := folder / name).is_file():
            files = [folder / shard for shard in shard_files(path)] or [path]
            if missing := [file.name for file in files if not file.is_file()]:
                raise CheckpointError(f"{path}: files of weights are missing: {', '.join(missing)}.")
            return files
    raise CheckpointError(f"{folder}: no weights; {WEIGHTS[0]} or {WEIGHTS[2]} was expected.")


def read_shapes(files: Sequence[Path]) -> dict[str, torch.Tensor]:
    """Read names, shapes and types of all tensors; the tensors are on torch's meta device, without memory."""
    return _read(files, "meta")


def read_tensors(files: Sequence[Path]) -> dict[str, torch.Tensor]:
    """Read all tensors."""
    return _read(files, "cpu")


def _read(files: Sequence[Path], device: str) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = {}
    for file in files:
        try:
            table = _safetensors(file, device) if file.suffix == ".safetensors" else _pickle(file, device)
        except Exception as error:  # both loaders raise many kinds of errors for a damaged or foreign file
            raise CheckpointError(f"{file}: the weights cannot be read: {first_line(error)}") from None
        tensors |= table
    return tensors


def _safetensors(file: Path, device: str) -> dict[str, torch.Tensor]:
    import torch
    from safetensors import safe_open
    from safetensors.torch import load_file

    if device != "meta":
        return load_file(file)
    with safe_open(file, framework="pt") as content:
        shapes = {name: content.get_slice(name).get_shape() for name in content.keys()}  # noqa: SIM118
    return {name: torch.empty(shape, device="meta") for name, shape in shapes.items()}


def _pickle(file: Path, device: str) -> dict[str, torch.Tensor]:
    import torch

    table = torch.load(file, map_location=device, weights_only=True)
    if not isinstance(table, Mapping) or not all(
        isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in table.items()
    ):
        raise ValueError("a flat table of tensors was expected")
    return dict(table)
