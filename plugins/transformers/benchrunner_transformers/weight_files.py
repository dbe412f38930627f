"""Files of weights: find them, read names and shapes without taking memory, and read the tensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import CheckpointError, shard_files

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
    from benchrunner.engine import read_shapes as shapes_of

    return {name: shape for file in files for name, shape in shapes_of(file).items()}


def read_tensors(files: Sequence[Path]) -> dict[str, torch.Tensor]:
    """Read all tensors."""
    from benchrunner.engine import read_tensors as tensors_of

    return {name: tensor for file in files for name, tensor in tensors_of(file).items()}
