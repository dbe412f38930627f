"""Write an encoder with its summary and a fitted head as a checkpoint that the library's own classes read."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch import nn

from benchrunner import CheckpointError, some_names
from benchrunner.engine import Encoder, ExportedHead, Features, collate
from benchrunner_transformers.checkpoint.published_heads import KINDS, Kind, made_on_meta, output_layer, published_class
from benchrunner_transformers.model.summary import Summary
from benchrunner_transformers.names import SUMMARY

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

_NEAR = 1e-3
"""Largest difference of logits, relative to the largest logit, that rounding can explain."""
_READS_SUMMARY: tuple[Kind, ...] = ("SEQUENCE_CLASSIFICATION", "MULTIPLE_CHOICE")


class SavedTokenizer(Protocol):
    """A tokenizer that writes its files to a folder."""

    def save(self, folder: Path) -> None: ...


def export_checkpoint(
    model: PreTrainedModel,
    summary: Summary,
    tokenizer: SavedTokenizer,
    head: ExportedHead | None,
    folder: Path,
    *,
    segments: bool = False,
) -> None:
    """Write a checkpoint: with a head, one for the library's own class; without, the base model and the summary.

    `segments` says whether the model takes segments; the exported tokenizer then gives them. Raise `CheckpointError` if
    no class of the library computes what this model computes.
    """
    if head is not None:
        published = published_model(model, summary, head)
        published.save_pretrained(folder)
    else:
        model.save_pretrained(folder)
        _save_summary(summary, folder)
    tokenizer.save(folder)
    if segments:
        _let_tokenizer_give_segments(folder / "tokenizer_config.json")


def _let_tokenizer_give_segments(path: Path) -> None:
    """Add segments to what a tokenizer gives. The library's tokenizers of ALBERT and XLNet leave them out."""
    settings = json.loads(path.read_text(encoding="utf-8"))
    names = settings.get("model_input_names", ["input_ids", "attention_mask"])
    if "token_type_ids" not in names:
        settings["model_input_names"] = [*names, "token_type_ids"]
        path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def published_model(model: PreTrainedModel, summary: Summary, head: ExportedHead) -> PreTrainedModel:
    """Make the library's own model for a kind of head, with the weights of an encoder, its summary and a fitted head.

    The model is for saving only: buffers that checkpoints do not have hold no values.
    """
    kind = _kind(head)
    model_class = published_class(model.config, kind)
    if model_class is None:
        auto = f"AutoModelFor{kind.title().replace('_', '')}"
        raise CheckpointError(
            f"The head cannot be exported: transformers has no {auto} for models of the type "
            f"'{model.config.model_type}'."
        )
    if kind in summary.head.refusals:
        raise CheckpointError(f"The head cannot be exported: {model_class.__name__} {summary.head.refusals[kind]}.")
    if head.reads_summary != (kind in _READS_SUMMARY):
        states = "the summary of a sequence" if kind in _READS_SUMMARY else "the states of the tokens"
        raise CheckpointError(
            f"The head cannot be exported: {model_class.__name__} reads {states}, this head does not."
        )
    published = made_on_meta(model_class, _configuration(model.config, head, kind))
    base = getattr(published, published.base_model_prefix, None)
    if type(base) is not type(model):
        raise CheckpointError(
            f"The head cannot be exported: {model_class.__name__} computes more than a {type(model).__name__}, which "
            "is what was fitted."
        )
    _fill(published, model, summary, head, kind)
    return published


def _kind(head: ExportedHead) -> Kind:
    kind = KINDS.get(head.kind.name)
    if kind is None:
        raise CheckpointError(
            f"The head cannot be exported: transformers has no class for heads of the kind '{head.kind.name}'; there "
            f"are classes for {', '.join(KINDS)}."
        )
    return kind


def _configuration(config: PreTrainedConfig, head: ExportedHead, kind: Kind) -> PreTrainedConfig:
    """Return the configuration with what the head's outputs mean."""
    config = copy.deepcopy(config)
    if kind == "SEQUENCE_CLASSIFICATION":
        config.problem_type = head.kind.name
        if config.pad_token_id is None and isinstance(config.eos_token_id, int):
            config.pad_token_id = config.eos_token_id  # GPT-2's class needs one to find the last token
    if kind != "MULTIPLE_CHOICE":
        config.num_labels = len(head.tensors["weight"])
    if labels := head.kind.labels:
        config.id2label = dict(enumerate(labels))
        config.label2id = {label: index for index, label in enumerate(labels)}
    return config


def _fill(published: PreTrainedModel, model: PreTrainedModel, summary: Summary, head: ExportedHead, kind: Kind) -> None:
    """Give the published model its weights; raise `CheckpointError` if it has other weights than these."""
    name = type(published).__name__
    base = f"{published.base_model_prefix}."
    output = output_layer(published, len(head.tensors["weight"]), summary.head)
    if not output:
        raise CheckpointError(f"The head cannot be exported: {name} has no single output layer.")
    weights = {f"{base}{key}": weight for key, weight in model.state_dict().items()}
    weights |= {f"{output}.{key}": weight for key, weight in head.tensors.items()}
    expected = published.state_dict().keys()
    layers = summary.published_weights(choice=kind == "MULTIPLE_CHOICE")
    if kind in _READS_SUMMARY or summary.head.for_tokens:
        weights |= layers
    else:  # a pooler that the class has, but does not read
        weights |= {key: weight for key, weight in layers.items() if key in expected}
    missing = {key for key in expected - weights.keys() if not key.startswith(f"{base}pooler.")}
    if missing or (unknown := weights.keys() - expected):
        names = some_names(sorted(missing or unknown), 3)
        lacking = f"has {names}, which this fit lacks" if missing else f"lacks {names}"
        raise CheckpointError(f"The head cannot be exported: {name} {lacking}.")
    published.load_state_dict({key: weight.contiguous() for key, weight in weights.items()}, strict=False, assign=True)
    if f"{base}pooler" in {key.rpartition(".")[0] for key in expected - weights.keys()}:
        getattr(published, published.base_model_prefix).pooler = None


def _save_summary(summary: Summary, folder: Path) -> None:
    from safetensors.torch import save_file

    if weights := {f"summary.{name}": weight.contiguous() for name, weight in summary.state_dict().items()}:
        save_file(weights, folder / SUMMARY, metadata={"format": "pt"})


@torch.no_grad()
def check_logits(
    encoder: Encoder, config: PreTrainedConfig, head: ExportedHead, folder: Path, *, segments: bool
) -> None:
    """Raise `CheckpointError` if the library computes other logits from an exported checkpoint than the encoder.

    `config` is the encoder's configuration, and `segments` says whether the model takes segments.
    """
    kind = _kind(head)
    model_class = published_class(config, kind)
    assert model_class is not None
    model = model_class.from_pretrained(folder, local_files_only=True, use_safetensors=True).eval()
    features = Features.of(encoder.assemble(["It rained all day."], ["The sea was calm, and we sailed."], 32))
    batch = collate(features, np.arange(1), next(encoder.parameters()).device)
    hidden = encoder(batch)
    states = encoder.summary(hidden, batch) if head.reads_summary else encoder.token_states(hidden, batch)
    expected = nn.functional.linear(states.cpu().float(), head.tensors["weight"], head.tensors.get("bias"))
    inputs = {"input_ids": batch.tokens[None].cpu()}
    if segments:
        inputs["token_type_ids"] = batch.segments[None].cpu()
    if kind == "MULTIPLE_CHOICE":
        inputs = {name: values[None] for name, values in inputs.items()}
    outputs = model(**inputs)
    spans = kind == "QUESTION_ANSWERING"
    logits = torch.stack([outputs.start_logits, outputs.end_logits], 2) if spans else outputs.logits
    difference = float((logits.reshape(expected.shape) - expected).abs().max() / expected.abs().max().clamp(min=1))
    if not difference < _NEAR:
        raise CheckpointError(
            f"The head cannot be exported: {model_class.__name__} computes other logits than this fit, which differ by "
            f"{difference:.2g}."
        )
