"""Write checkpoints in the hub's layout, so that other libraries read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import nn

from benchrunner.engine import ExportedHead
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.exported_heads import architecture_of, configuration_of
from benchrunner_bert.tokenizer import BertTokenizer
from benchrunner_bert.weight_names import published_weights


def write_encoder(
    folder: Path, encoder: nn.Module, config: Configuration, tokenizer: BertTokenizer, head: ExportedHead | None
) -> None:
    """Write an encoder to a checkpoint folder. With a head, other libraries load the folder as a whole model."""
    tensors = published_weights(encoder)
    settings = config.as_json()
    if head is not None:
        architecture = architecture_of(head, config.direction)
        tensors = {f"bert.{name}": tensor for name, tensor in tensors.items()}
        tensors |= {f"{architecture.module}.{name}": tensor.contiguous() for name, tensor in head.tensors.items()}
        settings |= configuration_of(head, architecture)
    write_checkpoint(folder, tensors, settings, tokenizer)


def write_checkpoint(
    folder: Path, tensors: Mapping[str, torch.Tensor], settings: Mapping[str, object], tokenizer: BertTokenizer
) -> None:
    """Write model.safetensors, config.json with the given settings, and the tokenizer's files."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(tensors), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    tokenizer.save(folder)
