"""Files of weights: find them, read names and shapes without taking memory, and read the tensors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import CheckpointError
from benchrunner_checkpoints import hub_files, tensor_files

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
    """Find the files of a model's weights, in a folder whose files can all be read."""
    hub_files.check_folder(folder)
    for name in WEIGHTS:
        path = folder / name
        if path.is_file():
            files = [folder / shard for shard in hub_files.shard_files(path)] or [path]
            missing = [file.name for file in files if not file.is_file()]
            if missing:
                raise CheckpointError(f"{path}: files of weights are missing: {', '.join(missing)}.")
            for file in files:
                tensor_files.check_header(file)
            return files
    raise CheckpointError(f"{folder}: no weights; {WEIGHTS[0]} or {WEIGHTS[2]} was expected.")


def read_shapes(files: Sequence[Path]) -> dict[str, torch.Tensor]:
    """Read names, shapes and types of all tensors; the tensors are on torch's meta device, without memory."""
    shapes: dict[str, torch.Tensor] = {}
    for file in files:
        shapes |= tensor_files.read_shapes(file)
    return shapes


def read_tensors(files: Sequence[Path]) -> dict[str, torch.Tensor]:
    """Read all tensors."""
    tensors: dict[str, torch.Tensor] = {}
    for file in files:
        tensors |= tensor_files.read_tensors(file)
    return tensors
