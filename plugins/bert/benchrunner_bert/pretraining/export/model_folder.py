"""A pre-trained model in the hub's layout, heads included: for other libraries to load and the runner to fine-tune."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import torch

from benchrunner import CheckpointError, write_folder_atomically
from benchrunner_bert.checkpoint_writer import write_checkpoint
from benchrunner_bert.pretraining.export.card import Card, readme
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.weight_names import published_weights

_HEADS = {
    "tokens.dense": "cls.predictions.transform.dense",
    "tokens.norm": "cls.predictions.transform.LayerNorm",
    "next_sentence": "cls.seq_relationship",
}
"""Our module -> theirs. The output layer's weight is the word embeddings', which is written once."""


def export(model: PretrainingModel, folder: Path, card: Card, *, kind: torch.dtype = torch.float32) -> None:
    """config.json, model.safetensors, the tokenizer's files, README.md and corpus.json, all of them or none."""
    tensors = dict(_published(model))
    if broken := sorted(name for name, one in tensors.items() if not one.isfinite().all()):
        raise CheckpointError(
            f"{folder}: not written, since {len(broken)} tensors hold what is no finite number, {broken[0]} for one: "
            "the pre-training diverged. Go on from an earlier checkpoint, or with a lower learning rate."
        )
    tensors = {name: one.to("cpu", kind).contiguous() for name, one in tensors.items()}
    config = {**model.bert.config.as_json(), "architectures": [model.objective.architecture]}

    def files(part: Path) -> None:
        write_checkpoint(part, tensors, config, model.bert.tokenizer)
        (part / "README.md").write_text(readme(card, model), encoding="utf-8")
        corpus = json.dumps(card.corpus.as_json(), indent=1, ensure_ascii=False)
        (part / "corpus.json").write_text(corpus + "\n", encoding="utf-8")

    write_folder_atomically(folder, files)


def _published(model: PretrainingModel) -> Iterator[tuple[str, torch.Tensor]]:
    """Everything that was trained, by its published name."""
    for name, one in published_weights(model.bert).items():
        # Where nothing trained the pooler there is none, and whoever fine-tunes draws one from a seed of their own.
        if model.objective.next_sentence or not name.startswith("pooler."):
            yield f"bert.{name}", one
    modules = dict(model.named_modules())
    for ours, theirs in _HEADS.items():
        if ours in modules:
            yield from ((f"{theirs}.{name}", one.detach()) for name, one in modules[ours].named_parameters())
    yield "cls.predictions.bias", model.tokens.output.bias.detach()
