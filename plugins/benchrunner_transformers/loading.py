"""Load models strictly: no code but what is trusted, no other pickle than tensors, every weight in its place."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import torch

from benchrunner import CheckpointError, Workspace, read_json_object
from benchrunner.engine import first_line, randomness
from benchrunner_checkpoints import hub_files, tensor_files
from benchrunner_transformers.checkpoint.checking import (
    Checkpoint,
    check,
    from_weights,
    renamed,
)
from benchrunner_transformers.checkpoint.configuration import own_configuration
from benchrunner_transformers.checkpoint.habits import Habits, settle_attention
from benchrunner_transformers.checkpoint.own_code import OwnCode
from benchrunner_transformers.checkpoint.published_heads import BASE
from benchrunner_transformers.checkpoint.tokenizer import HubTokenizer
from benchrunner_transformers.library_settings import quiet
from benchrunner_transformers.model.encoder import HubEncoder
from benchrunner_transformers.model.own_model import fill, made_of_own_code
from benchrunner_transformers.model.summary import Summary
from benchrunner_transformers.names import SUMMARY, WEIGHTS

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_USUAL_LENGTH = 512
"""Tokens of the longest sequence of a model that has no limit of its own: BERT's."""


def load(folder: Path, *, seed: int, encoder_only: bool) -> HubEncoder:
    """Load the model of a folder with its tokenizer. Weights of the summary that it lacks are drawn from the seed."""
    try:
        checkpoint = check(folder, encoder_only=encoder_only)
        tensors = tensor_files.read_tensors(*checkpoint.files)
        with quiet(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(randomness.derived(seed, "missing weights"))
            weights = renamed(tensors, checkpoint.model_class, checkpoint.config, checkpoint.encoder_only)
            model, _ = from_weights(checkpoint.model_class, checkpoint.config, weights, torch.device("cpu"))
        return _encoder(checkpoint, model, tensors, seed=seed)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:  # a value of another type
        raise CheckpointError(f"{folder}: a setting cannot be used: {first_line(error)}.") from error


def load_with_code(folder: Path, code: OwnCode, workspace: Workspace, *, seed: int) -> HubEncoder:
    """Load the model of a folder by its own code, which runs here. Weights that it lacks are drawn from the seed."""
    path = folder / "config.json"
    settings = read_json_object(path, error=CheckpointError)
    files = hub_files.weight_files(folder, WEIGHTS)
    tensors = tensor_files.read_tensors(*files)
    with quiet(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(randomness.derived(seed, "missing weights"))
        tokenizer = HubTokenizer.read(folder, own_configuration(settings, None))
        model = made_of_own_code(path, settings, code, workspace, vocabulary=tokenizer.size)
        left_out = fill(folder, model, tensors)
    checkpoint = Checkpoint(folder, tuple(files), model.config, tokenizer, type(model), False, tuple(left_out))
    return _encoder(checkpoint, model, tensors, seed=seed, code=code)


def _encoder(
    checkpoint: Checkpoint,
    model: PreTrainedModel,
    tensors: Mapping[str, torch.Tensor],
    *,
    seed: int,
    code: OwnCode | None = None,
) -> HubEncoder:
    """Find out how a model with all its weights reads its input, and make the encoder with its summary."""
    folder = checkpoint.folder
    with quiet():
        tensor_files.check_finite(folder, model.named_parameters())
        _share_table(model)
        try:
            settle_attention(model.eval())
            habits = Habits.of(model)
        except Exception as error:  # models raise many kinds of errors where they need more than token ids
            raise CheckpointError(
                f"{folder}: {type(model).__name__} cannot be run on token ids alone: {first_line(error)}"
            ) from None
        if not habits.gives_states:
            hint = (
                " Add ':encoder' to use the encoder alone."
                if getattr(model.config, "is_encoder_decoder", False)
                else ""
            )
            raise CheckpointError(f"{folder}: {type(model).__name__} gives logits, not states of the tokens.{hint}")
        if not habits.mixes_tokens:
            raise CheckpointError(
                f"{folder}: {type(model).__name__} computes the state of each token from that token alone here. The "
                "library has its attention only as code to be fetched from the hub, which benchrunner never runs."
            )
        decodes = getattr(checkpoint.config, "is_encoder_decoder", False) and not checkpoint.encoder_only
        place = "last" if habits.left_to_right or decodes else checkpoint.tokenizer.summary_place
        summary, notes = _summary(checkpoint, model, tensors, place=place, seed=seed)
        encoder = HubEncoder(
            model,
            summary,
            checkpoint.tokenizer,
            habits,
            summary_place=place,
            max_length=_max_length(model, checkpoint.tokenizer),
            encoder_only=checkpoint.encoder_only,
            code=code,
        )
    encoder.checkpoint = checkpoint
    encoder.notes = (*notes, *checkpoint.tokenizer.notes)
    return encoder


def _summary(
    checkpoint: Checkpoint,
    model: PreTrainedModel,
    tensors: Mapping[str, torch.Tensor],
    *,
    place: Literal["first", "last"],
    seed: int,
) -> tuple[Summary, list[str]]:
    """Make the summary with the weights of the checkpoint, or else with fresh ones, and remove the model's own pooler.

    Also return notes on what is drawn, and on the weights of the checkpoint that are left out.
    """
    summary = Summary.of(model.config, otherwise=place)
    summary.draw(randomness.generator(seed, "summary"))
    file = checkpoint.folder / SUMMARY
    saved = tensor_files.read_tensors(file) if file.is_file() else {}
    choice = any(str(name).endswith("ForMultipleChoice") for name in model.config.architectures or ())
    taken = summary.take({**tensors, **saved}, choice=choice)
    if "add_pooling_layer" in inspect.signature(type(model).__init__).parameters:
        model.pooler = None  # the summary has its weights, and computes from flat states
    notes = []
    heads = [name for name in checkpoint.left_out if name not in taken]
    if heads:
        notes.append(f"left out: weights of another task's head ({', '.join(heads[: tensor_files.SHOWN_FAULTS])})")
    if summary.head.dense.startswith(BASE) and not taken and any(True for _ in summary.parameters()):
        notes.append("the checkpoint has no pooler; a fresh one is drawn from the seed")
    return summary, notes


def _share_table(model: PreTrainedModel) -> None:
    """Let encoder and decoder look up tokens in one module, where the library has several modules with one weight.

    Training replaces the weight of a module by that of the tokens in use: see `Encoder.word_embeddings`.
    """
    table = model.get_input_embeddings()
    for name, module in list(model.named_modules(remove_duplicate=False)):
        is_twin = module is not table and type(module) is type(table) and module.weight is table.weight
        if is_twin and getattr(module, "embed_scale", None) == getattr(table, "embed_scale", None):
            model.set_submodule(name, table)


def _max_length(model: PreTrainedModel, tokenizer: HubTokenizer) -> int:
    """Return the number of tokens of the longest sequence that the model can read.

    RoBERTa and its relatives number positions from the padding id plus 1 on, so that the first rows of the table of
    positions are never used.
    """
    from torch import nn

    config = model.config.get_text_config()
    positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 0
    if positions < 1:  # positions are relative, without a limit: XLNet says -1
        return tokenizer.max_length or _USUAL_LENGTH
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, nn.Embedding) and module.padding_idx is not None:
            return len(module.weight) - module.padding_idx - 1
    return int(positions)
