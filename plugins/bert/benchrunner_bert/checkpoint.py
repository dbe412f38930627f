"""Checkpoints in the hub's layout: read strictly, written so that other libraries read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from benchrunner import CheckpointError, first_line
from benchrunner.engine import ExportedHead, generator
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.exported_heads import architecture_of, configuration_of
from benchrunner_bert.model import ACTIVATIONS, Bert, draw_weight
from benchrunner_bert.tokenizer import BertTokenizer

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""In this order; a .bin is read by torch's weights_only loader and by nothing else."""

_RENAMED = {
    "embeddings.word": "embeddings.word_embeddings",
    "embeddings.position": "embeddings.position_embeddings",
    "embeddings.segment": "embeddings.token_type_embeddings",
    "embeddings.norm": "embeddings.LayerNorm",
    "attention_output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "inner": "intermediate.dense",
    "output": "output.dense",
    "output_norm": "output.LayerNorm",
    "pooler": "pooler.dense",
}
"""Our module -> theirs, inside a layer where it is one of a layer's."""

_HEADS = re.compile(r"^(cls|classifier|qa_outputs|logits_proj|seq_relationship)\.")
"""What other tasks leave on top of an encoder."""
_PRETRAINING = ("cls.", "seq_relationship.")
"""Heads that every pre-trained checkpoint has, and that nobody expects to go on: left out without a word."""
_BUFFERS = {"embeddings.position_ids", "embeddings.token_type_ids"}
"""Constants that old versions of other libraries stored beside the weights."""


def read(folder: Path, *, seed: int) -> Bert:
    """The model of a checkpoint folder. A pooler that is not there is drawn from the seed, and said."""
    config = Configuration.read(folder / "config.json")
    if str(config.activation) not in ACTIVATIONS:
        raise CheckpointError(
            f"{folder}/config.json: hidden_act '{config.activation}' is none of {', '.join(ACTIVATIONS)}."
        )
    model = Bert(config, BertTokenizer.read(folder))
    if model.tokenizer.size > config.vocabulary:
        raise CheckpointError(
            f"{folder}: the vocabulary has {model.tokenizer.size} pieces, "
            f"the model only {config.vocabulary} embeddings."
        )
    path = weights_file(folder)
    tensors, dropped = _ours(_load(path))
    notes = []
    if others := sorted(name for name in dropped if not name.startswith(_PRETRAINING)):
        notes.append(f"left out of {path.name}: a head of another task ({', '.join(others)})")
    if not any(name.startswith("pooler.") for name in tensors):
        draw_weight(model.pooler.weight, config, generator(seed, "pooler"))
        torch.nn.init.zeros_(model.pooler.bias)
        tensors |= {f"pooler.dense.{name}": one.detach() for name, one in model.pooler.named_parameters()}
        notes.append("the checkpoint has no pooler; a fresh one is drawn from the seed")
    _fill(model, tensors, path)
    model.notes = tuple(notes)
    return model


def weights_file(folder: Path) -> Path:
    for name in WEIGHTS:
        if (folder / name).is_file():
            return folder / name
    raise CheckpointError(f"{folder}: no weights; {' or '.join(WEIGHTS)} was expected.")


def _load(path: Path) -> dict[str, torch.Tensor]:
    from safetensors.torch import load_file

    try:
        found = (
            load_file(path)
            if path.suffix == ".safetensors"
            else torch.load(path, map_location="cpu", weights_only=True)
        )
    except Exception as error:  # both raise many kinds for a file that is damaged or not what it says
        raise CheckpointError(f"{path}: the weights cannot be read: {first_line(error)}") from None
    if not isinstance(found, Mapping) or not all(
        isinstance(name, str) and isinstance(one, torch.Tensor) for name, one in found.items()
    ):
        raise CheckpointError(f"{path}: a flat table of tensors was expected.")
    return dict(found)


def _ours(found: Mapping[str, torch.Tensor]) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Their names without the prefix and with today's spelling; heads apart."""
    tensors, dropped = {}, []
    for name, one in found.items():
        if _HEADS.match(name):
            dropped.append(name)
            continue
        name = name.removeprefix("bert.")
        if name in _BUFFERS:
            continue
        name = re.sub(r"LayerNorm\.gamma$", "LayerNorm.weight", name)
        name = re.sub(r"LayerNorm\.beta$", "LayerNorm.bias", name)
        tensors[name] = one
    return tensors, dropped


def _names(model: Bert) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each of our parameters with the published names that make it up, in order."""
    for name, _ in model.named_parameters():
        module, _, kind = name.rpartition(".")
        if module.startswith("layers."):
            _, index, part = module.split(".", 2)
            below = f"encoder.layer.{index}"
            if part == "qkv":
                yield name, tuple(f"{below}.attention.self.{one}.{kind}" for one in ("query", "key", "value"))
            else:
                yield name, (f"{below}.{_RENAMED[part]}.{kind}",)
        else:
            yield name, (f"{_RENAMED[module]}.{kind}",)


def _fill(model: Bert, tensors: Mapping[str, torch.Tensor], path: Path) -> None:
    names = dict(_names(model))
    wanted = {theirs for group in names.values() for theirs in group}
    faults = [f"missing: {name}" for name in sorted(wanted - tensors.keys())]
    faults += [f"unexpected: {name}" for name in sorted(tensors.keys() - wanted)]
    parameters = dict(model.named_parameters())
    for ours, theirs in names.items():
        first, *others = parameters[ours].shape
        shape = (first // len(theirs), *others)
        faults += [
            f"{one}: {tuple(tensors[one].shape)} where the configuration asks for {shape}"
            for one in theirs
            if one in tensors and tensors[one].shape != shape
        ]
    if faults:
        shown = faults[:20] + ([f"... and {len(faults) - 20} more"] if len(faults) > 20 else [])
        raise CheckpointError(f"{path} does not hold this BERT:\n" + "\n".join(f"  - {one}" for one in shown))
    for ours, theirs in names.items():
        parameters[ours].data = torch.cat([tensors[one].detach() for one in theirs]).to(torch.float32)


def save(model: Bert, folder: Path, head: ExportedHead | None = None) -> None:
    """Write a checkpoint in the layout that `read` reads. With a head, other libraries load it as a whole model."""
    tensors, config = published(model), model.config.as_json()
    if head is not None:
        architecture = architecture_of(head, left_only=model.config.left_only)
        tensors = {f"bert.{name}": one for name, one in tensors.items()}
        tensors |= {f"{architecture.module}.{name}": tensor.contiguous() for name, tensor in head.tensors.items()}
        config |= configuration_of(head, architecture)
    write(folder, tensors, config, model.tokenizer)


def published(model: Bert) -> dict[str, torch.Tensor]:
    """All weights by their published names, without a prefix."""
    parameters = dict(model.named_parameters())
    return {
        name: part.contiguous()
        for ours, theirs in _names(model)
        for name, part in zip(theirs, parameters[ours].detach().chunk(len(theirs)), strict=True)
    }


def write(
    folder: Path, tensors: Mapping[str, torch.Tensor], config: Mapping[str, object], tokenizer: BertTokenizer
) -> None:
    """The files of a checkpoint."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(tensors), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    tokenizer.save(folder)
