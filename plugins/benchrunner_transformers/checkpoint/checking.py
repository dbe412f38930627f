"""Check a checkpoint before memory is taken: settings, tokenizer, sizes, and names and shapes of all weights.

The weights are compared with the model that the settings describe, on torch's meta device.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import torch

from benchrunner import CheckpointError
from benchrunner.engine import first_line
from benchrunner_checkpoints import hub_files, tensor_files
from benchrunner_transformers.checkpoint.configuration import configuration, mark, read_settings
from benchrunner_transformers.checkpoint.habits import without_cache
from benchrunner_transformers.checkpoint.tokenizer import HubTokenizer
from benchrunner_transformers.library_settings import forbid_kernels, quiet
from benchrunner_transformers.names import WEIGHTS

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

POOLER = "pooler."
"""Start of the names of a pooler's weights: the only weights that a checkpoint may lack."""
_DECODER = re.compile(r"(\w+\.)?decoder\.")
"""Starts of the names of a decoder's weights, which an encoder alone does not have."""
_OTHER_HEADS = ("cls.", "lm_head.", "predictions.", "sop_classifier.", "discriminator_predictions.", "vocab_")
"""Starts of the names of pre-training heads. Fine-tuning never uses them, so no note says that they are left out."""


@final
@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was checked."""

    folder: Path
    files: tuple[Path, ...]
    """The files of weights."""
    config: PreTrainedConfig
    tokenizer: HubTokenizer
    model_class: type[PreTrainedModel]
    encoder_only: bool
    """Whether the model is the encoder of a checkpoint that has an encoder and a decoder."""
    left_out: tuple[str, ...]
    """Names of the weights that are no part of the encoder."""


def check(folder: Path, *, encoder_only: bool) -> Checkpoint:
    """Read everything but the weights, and compare it; raise `CheckpointError` if it does not fit together."""
    path = folder / "config.json"
    settings = read_settings(path)
    files = hub_files.weight_files(folder, WEIGHTS)
    shapes = tensor_files.read_shapes(*files)
    forbid_kernels()
    with quiet():
        config = configuration(path, settings, tensors=len(shapes))
        tokenizer = HubTokenizer.read(folder, config)
        model_class, encoder_only = _model_class(path, config, encoder_only or mark(settings).get("part") == "encoder")
        model = made_on_meta(path, model_class, config)
        embeddings = _embeddings(path, model)
        buffers = sum(buffer.numel() * buffer.element_size() for buffer in model.buffers())
        tensor_files.check_size(path, sum(map(torch.numel, model.parameters())), files, buffers=buffers)
        if tokenizer.size > embeddings:
            raise CheckpointError(
                f"{folder}: the vocabulary has {tokenizer.size:,} tokens, the model only {embeddings:,} embeddings."
            )
        shapes = dict(renamed(shapes, model_class, config, encoder_only))
        model, report = from_weights(model_class, config, shapes, torch.device("meta"))
        left_out = judge(folder, model, shapes, report, f"{model.base_model_prefix}.")
    return Checkpoint(folder, tuple(files), config, tokenizer, model_class, encoder_only, tuple(left_out))


def _model_class(path: Path, config: PreTrainedConfig, encoder_only: bool) -> tuple[type[PreTrainedModel], bool]:
    """Choose the class of the model; for encoder-decoder models, say whether it is that of the encoder alone."""
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES

    model_class = _whole_class(config)
    if model_class.main_input_name != "input_ids":
        raise CheckpointError(f"{path}: {model_class.__name__} reads no text.")
    name = MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES.get(config.model_type, "")
    if name.endswith("EncoderModel"):  # T5 and its relatives
        if config.model_type == "t5gemma":
            config.is_encoder_decoder = False  # its classes then have no decoder
        return getattr(transformers, name), True
    if not getattr(config, "is_encoder_decoder", False) and not encoder_only:
        return model_class, False
    if not encoder_only and _decodes_its_input(made_on_meta(path, model_class, config)):
        return model_class, False
    if not getattr(config, "is_encoder_decoder", False):
        raise CheckpointError(f"{path}: {model_class.__name__} has no separate encoder: leave ':encoder' out.")
    return type(made_on_meta(path, model_class, config).get_encoder()), True


def _decodes_its_input(model: PreTrainedModel) -> bool:
    """Whether the decoder of a model reads the input itself, shifted by one token, as BART's does.

    If not, the model fails without an input for the decoder, in another way than with one.
    """
    from transformers.modeling_outputs import BaseModelOutput

    states = torch.zeros(1, 2, getattr(model.config, "hidden_size", 1), device="meta")
    ids = torch.zeros(1, 2, dtype=torch.long, device="meta")
    inputs = {"input_ids": ids, "encoder_outputs": BaseModelOutput(last_hidden_state=states), **without_cache(model)}
    return _failure(model, inputs) in ("", _failure(model, {**inputs, "decoder_input_ids": ids}))


def _failure(model: PreTrainedModel, inputs: Mapping[str, Any]) -> str:
    """Run a model without memory, and describe the error that it raises; empty if it raises none."""
    try:
        with torch.device("meta"):
            model(**inputs)
    except Exception as error:  # models raise many kinds of errors, also for parts that cannot run without values
        return f"{type(error).__name__}: {error}"
    return ""


def made_on_meta(path: Path, model_class: type[PreTrainedModel], config: PreTrainedConfig) -> PreTrainedModel:
    """Make the model that a configuration describes, without memory for its weights."""
    try:
        with torch.device("meta"):
            return model_class(config)
    except Exception as error:  # the model classes raise many kinds of errors for numbers that do not fit together
        reason = first_line(error)
        raise CheckpointError(f"{path}: {model_class.__name__} cannot be made of these settings: {reason}") from None


def _embeddings(path: Path, model: PreTrainedModel) -> int:
    """Return the number of tokens that a model has embeddings for."""
    try:
        return len(model.get_input_embeddings().weight)
    except (AttributeError, NotImplementedError, TypeError):
        raise CheckpointError(f"{path}: {type(model).__name__} has no table of token embeddings.") from None


def judge(
    folder: Path,
    model: PreTrainedModel,
    weights: Mapping[str, torch.Tensor],
    report: Mapping[str, Any],
    prefix: str,
) -> list[str]:
    """Refuse weights that are not those of a model; return the names of weights that are left out.

    `report` is what the library says of weights that it reads, and `prefix` what may stand before the model's names.
    Buffers, such as the numbers of positions, may have any type.
    """
    buffers = {name for name, _ in model.named_buffers()}
    read = dict[str, torch.Tensor]()
    for name in weights.keys() - set(report["unexpected_keys"]):
        if name.removeprefix(prefix) not in buffers:
            read[name] = weights[name]
    tensor_files.check_types(folder, read)
    parts = {name for name, _ in model.named_children()}
    faults = [f"missing: {name}" for name in sorted(report["missing_keys"]) if not name.startswith(POOLER)]
    heads = list[str]()
    for name in sorted(report["unexpected_keys"]):
        part = name.removeprefix(prefix).partition(".")[0]
        if part in parts and f"{part}." != POOLER:
            faults.append(f"unexpected: {name}")
        elif not name.startswith(_OTHER_HEADS):
            heads.append(name)
    for name, actual, expected in sorted(report["mismatched_keys"]):
        faults.append(f"{name}: {tuple(actual)} where the configuration asks for {tuple(expected)}")
    faults += report["error_msgs"]
    tensor_files.refuse(f"{folder}: the weights are not those of this {type(model).__name__}", faults)
    return heads if "decoder" in parts else [name for name in heads if not _DECODER.match(name)]


def from_weights(
    model_class: type[PreTrainedModel],
    config: PreTrainedConfig,
    weights: Mapping[str, torch.Tensor],
    device: torch.device,
) -> tuple[PreTrainedModel, Mapping[str, Any]]:
    """Make a model with given weights in fp32, and return the library's report on missing and unexpected weights.

    The library reads no file and no network here: it gets neither a path nor a name.
    """
    model, report = model_class.from_pretrained(
        None,
        config=config,
        state_dict=dict(weights),
        dtype=torch.float32,
        device_map=device,
        output_loading_info=True,
        ignore_mismatched_sizes=device.type == "meta",
    )
    return model, report


def renamed(
    weights: Mapping[str, torch.Tensor],
    model_class: type[PreTrainedModel],
    config: PreTrainedConfig,
    encoder_only: bool,
) -> Mapping[str, torch.Tensor]:
    """Rename the weights of a whole model for the class of its encoder, and leave out the other weights."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES

    if not encoder_only or model_class.__name__ in MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES.values():
        return _without_other_prefix(weights, model_class, config)
    with torch.device("meta"):
        whole = _whole_class(config)(config)  # Marian decides for each model which weights are shared
    names = {name: name.removeprefix(f"{whole.base_model_prefix}.") for name in weights}
    if any(name.startswith("encoder.") for name in names.values()):
        inside = {name: new.removeprefix("encoder.") for name, new in names.items() if new.startswith("encoder.")}
        for shared, original in (whole._tied_weights_keys or {}).items():
            new = shared.removeprefix("encoder.")
            if shared != new and new not in inside.values():
                inside |= {name: new for name in names if names[name] == original}
        names = inside
    return {new: weights[name] for name, new in names.items()}


def _whole_class(config: PreTrainedConfig) -> type[PreTrainedModel]:
    """Return the class of the base model of a configuration, which has a decoder if the architecture has one."""
    from transformers import MODEL_MAPPING

    model_class: type[PreTrainedModel] | tuple[type[PreTrainedModel], ...] = MODEL_MAPPING[type(config)]
    return model_class[0] if isinstance(model_class, tuple) else model_class


def _without_other_prefix(
    weights: Mapping[str, torch.Tensor], model_class: type[PreTrainedModel], config: PreTrainedConfig
) -> Mapping[str, torch.Tensor]:
    """Rename the weights of a class that has another name for its base model than the other classes of the family.

    These are, for example, `Qwen2ForQuestionAnswering` and the classes for spans of other models like Llama.
    """
    with torch.device("meta"):
        names = model_class(config).state_dict().keys()
    prefix = prefix_of(names, weights)
    if prefix == f"{model_class.base_model_prefix}." or any(f"{prefix}{name}" not in weights for name in names):
        return weights
    return {name.removeprefix(prefix): weight for name, weight in weights.items()}


def prefix_of(names: Iterable[str], weights: Mapping[str, torch.Tensor]) -> str:
    """Return the prefix under which a checkpoint has most of a model's weights; empty if they have their own names."""
    best = ""
    most = 0
    for prefix in ("", *sorted({f"{name.partition('.')[0]}." for name in weights})):
        count = sum(f"{prefix}{name}" in weights for name in names)
        if count > most:
            best, most = prefix, count
    return best
