"""Convert somebody's checkpoint of a BERT, which DeepSpeed wrote, to the hub's layout."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch

from benchrunner import CheckpointError, read_json_object
from benchrunner.engine import write_folder_atomically
from benchrunner_bert.checkpoint import check_weights
from benchrunner_bert.checkpoint_writer import write_checkpoint
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_bert.pretraining.deepspeed import zero_checkpoint
from benchrunner_bert.pretraining.export.model_folder import not_finite
from benchrunner_bert.tokenizer import BertTokenizer
from benchrunner_bert.weight_names import published_weights

_CONFIG = "config.json"
_VOCABULARIES = ("tokenizer.json", "vocab.txt")
_PREFIXES = ("module.", "_orig_mod.")
"""Prefixes that other libraries put before every name."""
_COPIES = {
    "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}
"""Weights that published checkpoints leave out -> the weights that they share."""
_ENCODER = ("embeddings.", "encoder.", "pooler.")
_CONSTANTS = ("embeddings.position_ids", "embeddings.token_type_ids")
_STORED_TYPES = ("dtype", "torch_dtype")
"""Keys of config.json for the type of the stored weights, which is always fp32 here."""


def convert(source: Path, target: Path) -> bool:
    """Convert a checkpoint folder, or the newest of several in a folder; False where it is not DeepSpeed's.

    The model's configuration and vocabulary must lie there or beside it.
    """
    folder = zero_checkpoint.find(source)
    if folder is None:
        return False
    weights = zero_checkpoint.read(folder)
    broken = not_finite(weights.tensors)
    if broken:
        raise CheckpointError(
            f"{folder}: {len(broken)} tensors hold values that are no finite numbers, such as {broken[0]}: the "
            "training had diverged. Convert an earlier checkpoint."
        )
    whole = folder.resolve()
    places = tuple(dict.fromkeys((source.resolve(), source.resolve().parent, whole, whole.parent)))
    config = _place_of(folder, places, _CONFIG) / _CONFIG
    settings = read_json_object(config, error=CheckpointError)
    if settings.get("model_type", "bert") != "bert":
        raise CheckpointError(f"{config}: model_type is {settings['model_type']!r}; only a BERT can be exported.")
    bert = Bert(Configuration.read(config), BertTokenizer.read(_place_of(folder, places, *_VOCABULARIES)))
    tensors = _published(weights.tensors)
    _check(folder, tensors, bert, config)
    settings = {key: value for key, value in settings.items() if key not in _STORED_TYPES}
    settings |= {"model_type": "bert", "architectures": [_architecture(tensors, settings)]}

    def files(part: Path) -> None:
        contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
        write_checkpoint(part, contiguous, settings, bert.tokenizer)
        (part / "README.md").write_text(_readme(folder, weights), encoding="utf-8")

    write_folder_atomically(target, files)
    return True


def _place_of(folder: Path, places: tuple[Path, ...], *names: str) -> Path:
    """Find the first place with a file of one of the names."""
    for place in places:
        if any((place / name).is_file() for name in names):
            return place
    searched = ", ".join(map(str, places))
    raise CheckpointError(
        f"{folder} holds weights only: put the model's {' or '.join(names)} beside it (searched in {searched})."
    )


def _published(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Remove prefixes that all names have, copies of other weights, and constants."""
    while prefix := _shared_prefix(tensors):
        tensors = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    bare = {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}
    left_out = set(_CONSTANTS)
    for copy, shared in _COPIES.items():
        if copy in bare and shared in bare and torch.equal(bare[copy], bare[shared]):
            left_out.add(copy)
    return {name: tensor for name, tensor in tensors.items() if name.removeprefix("bert.") not in left_out}


def _shared_prefix(names: Collection[str]) -> str | None:
    for prefix in _PREFIXES:
        if all(name.startswith(prefix) for name in names):
            return prefix
    return None


def _check(folder: Path, tensors: Mapping[str, torch.Tensor], bert: Bert, config: Path) -> None:
    """Check that the encoder is complete and has the configuration's shapes.

    The pooler may be missing: with masked tokens alone, nothing trains it.
    """
    bare = {name.removeprefix("bert."): tensor for name, tensor in tensors.items()}
    encoder = {name: tensor for name, tensor in bare.items() if name.startswith(_ENCODER)}
    has_pooler = any(name.startswith("pooler.") for name in encoder)
    expected = published_weights(bert)
    if not has_pooler:
        expected = {name: weight for name, weight in expected.items() if not name.startswith("pooler.")}
    check_weights(folder, f"the BERT of {config}", encoder, expected)


def _architecture(tensors: Mapping[str, torch.Tensor], settings: Mapping[str, Any]) -> str:
    """Name the class in transformers of a BERT with the heads among the weights."""
    if any(name.startswith("cls.seq_relationship.") for name in tensors):
        return "BertForNextSentencePrediction" if "cls.predictions.bias" not in tensors else "BertForPreTraining"
    if "cls.predictions.bias" in tensors:
        return "BertLMHeadModel" if settings.get("is_decoder") else "BertForMaskedLM"
    return str((settings.get("architectures") or ["BertModel"])[0])


def _readme(folder: Path, weights: zero_checkpoint.Weights) -> str:
    kind = "fp32, some of them from half precision" if weights.rounded else "fp32"
    return (
        f"# {folder.resolve().name}\n\nWritten by `benchrunner runs export` from a checkpoint of DeepSpeed's: steps: "
        f"{weights.steps:,}. Weights: {kind}.\n"
    )
