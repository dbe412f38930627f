"""Write a pre-trained model in the hub's layout, heads included, for other libraries and for fine-tuning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from benchrunner import CheckpointError, write_folder_atomically
from benchrunner_bert.checkpoint_writer import write_checkpoint
from benchrunner_bert.pretraining.export.card import Card, readme
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.weight_names import published_weights

_PUBLISHED_HEADS = {
    "tokens.dense": "cls.predictions.transform.dense",
    "tokens.norm": "cls.predictions.transform.LayerNorm",
    "next_sentence": "cls.seq_relationship",
}
"""Our module -> the published module. The weight of the output layer is that of the word embeddings, written once."""


def export(model: PretrainingModel, folder: Path, card: Card) -> None:
    """Write config.json, model.safetensors, the tokenizer's files, README.md and corpus.json: all of them or none."""
    tensors = dict(_published(model))
    if broken := not_finite(tensors):
        raise CheckpointError(
            f"{folder}: not written, since {len(broken)} tensors hold values that are no finite numbers, such as "
            f"{broken[0]}: the pre-training diverged. Continue from an earlier checkpoint, or with a lower "
            "learning rate."
        )
    tensors = {name: tensor.to("cpu", torch.float32).contiguous() for name, tensor in tensors.items()}
    config = model.bert.config.as_json()
    if model.objective.architecture is not None:
        config["architectures"] = [model.objective.architecture]

    def files(part: Path) -> None:
        write_checkpoint(part, tensors, config, model.bert.tokenizer)
        (part / "README.md").write_text(readme(card, model), encoding="utf-8")
        corpus = json.dumps(card.corpus.as_json(), indent=1, ensure_ascii=False)
        (part / "corpus.json").write_text(corpus + "\n", encoding="utf-8")

    write_folder_atomically(folder, files)


def not_finite(tensors: Mapping[str, torch.Tensor]) -> list[str]:
    """Name the tensors that hold values that are no finite numbers."""
    return sorted(name for name, tensor in tensors.items() if not tensor.isfinite().all())


def _published(model: PretrainingModel) -> Iterator[tuple[str, torch.Tensor]]:
    """Give everything that was trained, by its published name."""
    for name, weight in published_weights(model.bert).items():
        # Without next sentences nothing trains the pooler. It is left out, and fine-tuning draws one from its own seed.
        if model.objective.next_sentence or not name.startswith("pooler."):
            yield f"bert.{name}", weight
    modules = dict(model.named_modules())
    for ours, published in _PUBLISHED_HEADS.items():
        if ours in modules:
            for name, parameter in modules[ours].named_parameters():
                yield f"{published}.{name}", parameter.detach()
    yield "cls.predictions.bias", model.tokens.output.bias.detach()
