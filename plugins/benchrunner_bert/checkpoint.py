"""Read checkpoints in the hub's layout strictly: every missing, unexpected or misshapen weight is an error."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import torch

from benchrunner import CheckpointError
from benchrunner.engine import randomness
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.memory import check_files
from benchrunner_bert.model import ACTIVATIONS, Bert, draw_weight
from benchrunner_bert.token_head import published_head
from benchrunner_bert.tokenizer import BertTokenizer
from benchrunner_bert.weight_names import encoder_weights, published_names, published_weights
from benchrunner_checkpoints import hub_files, tensor_files

WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""Files of weights; the first that exists is read. Only torch's weights_only loader opens a .bin file."""

_PRETRAINING_HEADS = ("cls.", "seq_relationship.")
"""Heads of every pre-trained checkpoint. Fine-tuning never uses them, so no note says that they are left out."""


def read(folder: Path, *, seed: int) -> Bert:
    """Read the model of a checkpoint folder.

    A missing pooler is drawn from the seed; a note says so, and another note names heads that are left out.
    """
    config = Configuration.read(folder / "config.json")
    if str(config.activation) not in ACTIVATIONS:
        raise CheckpointError(
            f"{folder}/config.json: hidden_act '{config.activation}' is none of {', '.join(ACTIVATIONS)}."
        )
    [path] = hub_files.weight_files(folder, WEIGHTS)
    weights_at_least = config.weights - config.pooler_weights  # the pooler may be missing
    check_files(folder / "config.json", config.layers, weights_at_least, path)
    tokenizer = _read_tokenizer(folder, config.vocabulary)
    with torch.device("meta"):  # every weight is replaced
        model = Bert(config, tokenizer)
    weights, heads = encoder_weights(tensor_files.read_tensors(path))
    notes = []
    task_heads = sorted(name for name in heads if not name.startswith(_PRETRAINING_HEADS))
    if task_heads:
        notes.append(f"left out of {path.name}: a head of another task ({', '.join(task_heads)})")
    if not any(name.startswith("pooler.") for name in weights):
        pooler = torch.empty(config.hidden, config.hidden)
        draw_weight(pooler, config, randomness.generator(seed, "pooler"))
        weights |= {"pooler.dense.weight": pooler, "pooler.dense.bias": torch.zeros(config.hidden)}
        model.has_fresh_pooler = True
        notes.append("the checkpoint has no pooler; a fresh one is drawn from the seed")
    _check_weights(path, weights, published_weights(model))
    filled = {}
    for ours, parts in published_names(model):
        filled[ours] = torch.cat([weights[name] for name in parts]).to(torch.float32)
    model.load_state_dict(filled, assign=True)
    model.notes = tuple(notes)
    model.make_token_head = partial(published_head, model, path)
    return model


def _read_tokenizer(folder: Path, embeddings: int) -> BertTokenizer:
    """Read the tokenizer of a model with so many embeddings of tokens."""
    tokenizer = BertTokenizer.read(folder)
    if tokenizer.size > embeddings:
        raise CheckpointError(
            f"{folder}: the vocabulary has {tokenizer.size:,} pieces, the model only {embeddings:,} embeddings."
        )
    return tokenizer


def _check_weights(path: Path, weights: Mapping[str, torch.Tensor], expected: Mapping[str, torch.Tensor]) -> None:
    """Compare a file's weights with the names and shapes of a BERT's weights; refuse odd types and values."""
    faults = [f"missing: {name}" for name in sorted(expected.keys() - weights.keys())]
    faults += [f"unexpected: {name}" for name in sorted(weights.keys() - expected.keys())]
    for name, weight in expected.items():
        if name in weights and weights[name].shape != weight.shape:
            found, wanted = tuple(weights[name].shape), tuple(weight.shape)
            faults.append(f"{name}: {found} where the configuration asks for {wanted}")
    tensor_files.refuse(f"{path} does not hold this BERT", faults)
    tensor_files.check_types(path, weights)
    tensor_files.check_finite(path, weights.items())
