"""Write a pre-trained model in the hub's layout, heads included, for other libraries and for fine-tuning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch

from benchrunner import CheckpointError
from benchrunner.engine import write_folder_atomically, write_json
from benchrunner_bert.checkpoint_writer import write_checkpoint
from benchrunner_bert.pretraining.export.card import Card, readme
from benchrunner_bert.pretraining.training.model import PretrainingModel

CARD_FILES = ("README.md", "corpus.json")
"""Files that describe a model to readers; the others are the model."""


def export(model: PretrainingModel, folder: Path, card: Card) -> None:
    """Write config.json, model.safetensors, the tokenizer's files, README.md and corpus.json: all of them or none."""
    tensors = dict(model.published())
    if broken := not_finite(tensors):
        raise CheckpointError(
            f"{folder}: not written, since {len(broken)} tensors hold values that are no finite numbers, such as "
            f"{broken[0]}: the pre-training diverged. Continue from an earlier checkpoint, or with a lower "
            "learning rate."
        )
    tensors = {name: tensor.to("cpu", torch.float32).contiguous() for name, tensor in tensors.items()}

    def files(part: Path) -> None:
        write_checkpoint(part, tensors, model.published_configuration(), model.bert.tokenizer)
        (part / "README.md").write_text(readme(card, model), encoding="utf-8")
        write_json(part / "corpus.json", card.corpus)

    write_folder_atomically(folder, files)


def not_finite(tensors: Mapping[str, torch.Tensor]) -> list[str]:
    """Name the tensors that hold values that are no finite numbers."""
    return sorted(name for name, tensor in tensors.items() if not tensor.isfinite().all())
