"""The content of a fit's model folder: the encoder in its family's layout, and the weights learned on top of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.methods.method import Job

HEAD = "head.safetensors"


def save(folder: Path, encoder: Encoder, learned: Mapping[str, nn.Module], job: Job) -> None:
    """Write the encoder, the learned modules' weights to `head.safetensors`, and what the head is for to `head.json`.

    The weights of the module `head` keep their own names; names of other modules' weights begin with the module's name.
    """
    from safetensors.torch import save_file

    encoder.save(folder)
    tensors = {
        _key(module, name): tensor.contiguous()
        for module, weights in learned.items()
        for name, tensor in weights.state_dict().items()
    }
    save_file(tensors, folder / HEAD)
    facts = {"problem": job.problem.identity(), "method": job.fit.method}
    (folder / "head.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def load(learned: Mapping[str, nn.Module], folder: Path) -> None:
    """Load the weights that `save` wrote into the learned modules; raise `Diverged` if one is not a finite number."""
    from safetensors.torch import load_file

    from benchrunner.backbones.finite_numbers import check_weights

    tensors = load_file(folder / HEAD)
    check_weights(tensors.items(), f"the weights in {folder / HEAD}")
    for module, weights in learned.items():
        weights.load_state_dict({name: tensors[_key(module, name)] for name in weights.state_dict()})


def _key(module: str, name: str) -> str:
    return name if module == "head" else f"{module}.{name}"
