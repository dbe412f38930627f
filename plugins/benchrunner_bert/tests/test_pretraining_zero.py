"""Somebody's checkpoint that DeepSpeed wrote, after DeepSpeed's own script put its weights together."""

from __future__ import annotations

from pathlib import Path

import torch
from pretraining_runs import samples
from safetensors.torch import load_file

from benchrunner_bert.checkpoint import read
from benchrunner_bert.weight_names import published_names


def test_a_deepspeed_folder_that_was_made_whole_is_read(tmp_path: Path) -> None:
    folder = samples(tmp_path, "theirs-2-fp32") / "theirs-2-fp32"
    bert, wanted = read(folder, seed=0), load_file(folder / "reference.safetensors")
    for ours, theirs in published_names(bert):
        assert torch.equal(bert.get_parameter(ours), torch.cat([wanted[f"bert.{name}"] for name in theirs])), ours
