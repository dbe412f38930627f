"""DeepSpeed's checkpoint folders in the hub's layout: those of `pretrain`, and those of anybody's BERT."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchrunner import CheckpointError, RequestError, read_json_object, write_folder_atomically
from benchrunner_bert.checkpoint_writer import write_checkpoint
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_bert.pretraining.corpus.manifest import Manifest
from benchrunner_bert.pretraining.deepspeed import zero_checkpoint
from benchrunner_bert.pretraining.export.card import Card
from benchrunner_bert.pretraining.export.model_folder import export
from benchrunner_bert.pretraining.objectives import named
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.tokenizer import BertTokenizer
from benchrunner_bert.weight_names import published_weights

OURS = "benchrunner"
"""Under this key a checkpoint of `pretrain` says, as JSON, what model it is of."""

_CONFIG, _VOCABULARIES = "config.json", ("tokenizer.json", "vocab.txt")
_WRAPPERS = ("module.", "_orig_mod.")
"""What other libraries put before every name."""
_COPIES = {
    "cls.predictions.decoder.weight": "embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}
"""What published checkpoints leave out, since it is shared -> with what."""
_ENCODER = ("embeddings.", "encoder.", "pooler.")
_CONSTANTS = ("embeddings.position_ids", "embeddings.token_type_ids")
_KINDS = ("dtype", "torch_dtype")
"""Keys of config.json that say how the weights were stored; here they are fp32."""


def description(model: PretrainingModel, vocabulary: Path, *, lowercase: bool, card: Card) -> str:
    """What a checkpoint of `pretrain` says of its model, so that it needs no other file."""
    return json.dumps(
        {
            "objective": model.objective.name,
            "config": model.bert.config.as_json(),
            "vocabulary": vocabulary.read_bytes().decode(),
            "lowercase": lowercase,
            "card": {**dataclasses.asdict(card), "corpus": card.corpus.as_json()},
        }
    )


def convert(source: Path, target: Path) -> bool:
    """Write what a checkpoint folder holds, or the newest of several; False where it is none of DeepSpeed's."""
    folder = zero_checkpoint.find(source)
    if folder is None:
        return False
    found = zero_checkpoint.read(folder)
    if broken := sorted(name for name, one in found.tensors.items() if not one.isfinite().all()):
        raise CheckpointError(
            f"{folder}: {len(broken)} tensors hold what is no finite number, {broken[0]} for one: the training had "
            "diverged. Take an earlier checkpoint."
        )
    if OURS in found.added:
        _pretrained(folder, found, target)
    else:
        homes = (source.resolve(), source.resolve().parent, folder.resolve(), folder.resolve().parent)
        _foreign(folder, found, tuple(dict.fromkeys(homes)), target)
    return True


def _pretrained(folder: Path, found: zero_checkpoint.Weights, target: Path) -> None:
    """As the run itself would have exported it."""
    try:
        said = json.loads(found.added[OURS])
        model = _model(said)
        model.load_state_dict(found.tensors)
        given = said["card"]
        phases = tuple((steps, length) for steps, length in given["phases"])
        card = Card(**{**given, "corpus": Manifest.from_json(given["corpus"]), "phases": phases})
    except (KeyError, TypeError, ValueError, RuntimeError, RequestError) as error:
        raise CheckpointError(f"{folder}: what it says of its model is not what it holds: {error}") from None
    export(model, target, card)


def _model(said: Mapping[str, Any]) -> PretrainingModel:
    with TemporaryDirectory() as name:
        config, vocabulary = Path(name) / _CONFIG, Path(name) / "vocab.txt"
        config.write_text(json.dumps(said["config"]), encoding="utf-8")
        vocabulary.write_bytes(said["vocabulary"].encode())
        tokenizer = BertTokenizer.from_vocabulary(vocabulary, lowercase=said["lowercase"])
        return PretrainingModel(Bert(Configuration.read(config), tokenizer), named(said["objective"]))


def _foreign(folder: Path, found: zero_checkpoint.Weights, homes: tuple[Path, ...], target: Path) -> None:
    """Weights by their published names; configuration and vocabulary are files beside the checkpoint."""
    config = _home(folder, homes, _CONFIG) / _CONFIG
    settings = read_json_object(config, error=CheckpointError)
    if settings.get("model_type", "bert") != "bert":
        raise CheckpointError(f"{config}: model_type is {settings['model_type']!r}; only a BERT can be exported.")
    bert = Bert(Configuration.read(config), BertTokenizer.read(_home(folder, homes, *_VOCABULARIES)))
    tensors = _published(found.tensors)
    _check(folder, tensors, bert, config)
    settings = {name: value for name, value in settings.items() if name not in _KINDS}
    settings |= {"model_type": "bert", "architectures": [_architecture(tensors, settings)]}

    def files(part: Path) -> None:
        write_checkpoint(part, {name: one.contiguous() for name, one in tensors.items()}, settings, bert.tokenizer)
        (part / "README.md").write_text(_readme(folder, found), encoding="utf-8")

    write_folder_atomically(target, files)


def _home(folder: Path, homes: tuple[Path, ...], *names: str) -> Path:
    for home in homes:
        if any((home / name).is_file() for name in names):
            return home
    looked = ", ".join(map(str, homes))
    raise CheckpointError(
        f"{folder} holds weights only: put the model's {' or '.join(names)} beside it (looked in {looked})."
    )


def _published(found: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Without what wraps every name, and without what is there twice."""
    while prefix := next((one for one in _WRAPPERS if all(name.startswith(one) for name in found)), None):
        found = {name.removeprefix(prefix): one for name, one in found.items()}
    bare = {name.removeprefix("bert."): one for name, one in found.items()}
    copies = [name for name, other in _COPIES.items() if _same(bare.get(name), bare.get(other))]
    left_out = {*copies, *_CONSTANTS}
    return {name: one for name, one in found.items() if name.removeprefix("bert.") not in left_out}


def _same(one: torch.Tensor | None, other: torch.Tensor | None) -> bool:
    return one is not None and other is not None and torch.equal(one, other)


def _check(folder: Path, tensors: Mapping[str, torch.Tensor], bert: Bert, config: Path) -> None:
    """Every part of the encoder, in the configuration's shape. A pooler may be missing, as it is after MLM alone."""
    bare = {name.removeprefix("bert."): tuple(one.shape) for name, one in tensors.items()}
    pooled = any(name.startswith("pooler.") for name in bare)
    wanted = {name: tuple(one.shape) for name, one in published_weights(bert).items()}
    wanted = {name: shape for name, shape in wanted.items() if pooled or not name.startswith("pooler.")}
    faults = [f"missing: {name}" for name in wanted if name not in bare]
    faults += [
        f"{name}: {bare[name]} where {config} asks for {shape}"
        for name, shape in wanted.items()
        if bare.get(name, shape) != shape
    ]
    faults += [f"unexpected: {name}" for name in bare if name not in wanted and name.startswith(_ENCODER)]
    if faults:
        listed = "\n".join(f"  - {one}" for one in faults[:20])
        more = f"\n  ... {len(faults)} in all" if len(faults) > 20 else ""
        raise CheckpointError(f"{folder} does not hold the BERT of {config}:\n{listed}{more}")


def _architecture(tensors: Mapping[str, torch.Tensor], settings: Mapping[str, Any]) -> str:
    """What transformers calls a BERT with these heads."""
    given = str((settings.get("architectures") or ["BertModel"])[0])
    if any(name.startswith("cls.seq_relationship.") for name in tensors):
        return "BertForNextSentencePrediction" if "cls.predictions.bias" not in tensors else "BertForPreTraining"
    if "cls.predictions.bias" in tensors:
        return "BertLMHeadModel" if settings.get("is_decoder") else "BertForMaskedLM"
    return given


def _readme(folder: Path, found: zero_checkpoint.Weights) -> str:
    kind = "those of the half-precision module: no fp32 ones could be told by name" if found.rounded else "fp32"
    return (
        f"# {folder.resolve().name}\n\nWritten by `benchrunner export` from a checkpoint of DeepSpeed's: ZeRO stage "
        f"{found.stage}, processes: {found.processes}, steps: {found.steps:,}. Weights: {kind}.\n"
    )
