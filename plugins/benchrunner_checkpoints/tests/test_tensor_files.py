"""Weights in memory."""

from pathlib import Path

import torch
from safetensors.torch import save_file

from benchrunner_checkpoints.files.tensor_files import read_tensors


def test_every_tensor_begins_where_new_ones_do(tmp_path: Path) -> None:
    """Products of matrices that begin elsewhere differ in the last bit, so that equal weights would be two models."""
    tensors = {f"weight{number}": torch.full((3, number), float(number)) for number in range(1, 9)}
    save_file(tensors, tmp_path / "model.safetensors")
    torch.save(tensors, tmp_path / "model.bin")
    for name in ("model.safetensors", "model.bin"):
        read = read_tensors(tmp_path / name)
        assert {tensor.data_ptr() % 64 for tensor in read.values()} == {0}
        assert all(torch.equal(read[key], tensor) for key, tensor in tensors.items())
