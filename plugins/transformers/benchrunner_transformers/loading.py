"""Load models strictly: no code of the checkpoint, no other pickle than tensors, every weight in its place.

A checkpoint is compared with the model that its configuration describes on torch's meta device, before any memory is
taken.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch

from benchrunner import CheckpointError, first_line
from benchrunner.engine import derived, generator
from benchrunner_transformers.configuration import configuration, mark, read_settings
from benchrunner_transformers.encoder import HubEncoder
from benchrunner_transformers.habits import Habits
from benchrunner_transformers.published_heads import BASE
from benchrunner_transformers.quiet import quiet
from benchrunner_transformers.summary import Summary
from benchrunner_transformers.tokenizer import HubTokenizer
from benchrunner_transformers.weight_files import SUMMARY, read_shapes, read_tensors, weight_files

if TYPE_CHECKING:
    from transformers import PreTrainedConfig, PreTrainedModel

POOLER = "pooler."
"""Start of the names of a pooler's weights: the only weights that a checkpoint may lack."""
_SHOWN_FAULTS = 20
"""Number of faults that an error lists."""
_USUAL_LENGTH = 512
"""Tokens of the longest sequence of a model that has no limit of its own: BERT's."""
_OTHER_HEADS = ("cls.", "lm_head.", "predictions.", "sop_classifier.", "discriminator_predictions.", "vocab_")
"""Starts of the names of pre-training heads. Fine-tuning never uses them, so no note says that they are left out."""


def load(folder: Path, *, seed: int, encoder_only: bool) -> HubEncoder:
    """Load the model of a folder with its tokenizer. A pooler that the checkpoint lacks is drawn from the seed."""
    path = folder / "config.json"
    settings = read_settings(path)
    files = weight_files(folder)
    shapes = read_shapes(files)
    config = configuration(path, settings, tensors=len(shapes))
    with quiet():
        tokenizer = HubTokenizer.read(folder, config)
        model_class, encoder_only = _model_class(path, config, encoder_only or mark(settings).get("part") == "encoder")
        model = _made_on_meta(path, model_class, config)
        _check_size(path, model, files)
        if tokenizer.size > (embeddings := len(model.get_input_embeddings().weight)):
            raise CheckpointError(
                f"{folder}: the vocabulary has {tokenizer.size:,} tokens, the model only {embeddings:,} embeddings."
            )
        left_out = _check_weights(folder, model_class, config, _renamed(shapes, model_class, encoder_only))
        tensors = read_tensors(files)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derived(seed, "missing weights"))
            weights = _renamed(tensors, model_class, encoder_only)
            model, _ = _from_weights(model_class, config, weights, torch.device("cpu"))
        _share_table(model)
        habits = Habits.of(model.eval())
        decodes = getattr(config, "is_encoder_decoder", False) and not encoder_only
        place = "last" if habits.left_to_right or decodes else tokenizer.summary_place
        summary, notes = _summary(folder, model, tensors, left_out, place=place, seed=seed)
        encoder = HubEncoder(
            model,
            summary,
            tokenizer,
            habits,
            summary_place=place,
            max_length=_max_length(model, tokenizer),
            encoder_only=encoder_only,
        )
    encoder.notes = tuple(notes)
    return encoder


def _summary(
    folder: Path,
    model: PreTrainedModel,
    tensors: Mapping[str, torch.Tensor],
    left_out: Sequence[str],
    *,
    place: Literal["first", "last"],
    seed: int,
) -> tuple[Summary, list[str]]:
    """Make the summary with the weights of the checkpoint, or else with fresh ones, and remove the model's own pooler.

    Also return notes on what is drawn, and on the weights of the checkpoint that are left out.
    """
    summary = Summary.of(model.config, otherwise=place)
    summary.draw(generator(seed, "summary"))
    saved = read_tensors([folder / SUMMARY]) if (folder / SUMMARY).is_file() else {}
    choice = any(str(name).endswith("ForMultipleChoice") for name in model.config.architectures or ())
    taken = summary.take({**tensors, **saved}, choice=choice)
    if "add_pooling_layer" in inspect.signature(type(model).__init__).parameters:
        model.pooler = None  # the summary has its weights, and computes from flat states
    notes = []
    if heads := [name for name in left_out if name not in taken]:
        notes.append(f"left out: weights of another task's head ({', '.join(heads[:_SHOWN_FAULTS])})")
    if summary.head.dense.startswith(BASE) and not taken and any(True for _ in summary.parameters()):
        notes.append("the checkpoint has no pooler; a fresh one is drawn from the seed")
    return summary, notes


def _model_class(path: Path, config: PreTrainedConfig, encoder_only: bool) -> tuple[type[PreTrainedModel], bool]:
    """Choose the class of the model; for encoder-decoder models, say whether it is that of the encoder alone."""
    import transformers
    from transformers import MODEL_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES

    model_class = MODEL_MAPPING[type(config)]
    model_class = model_class[0] if isinstance(model_class, tuple) else model_class
    if model_class.main_input_name != "input_ids":
        raise CheckpointError(f"{path}: {model_class.__name__} reads no text.")
    name = MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES.get(config.model_type, "")
    if name.endswith("EncoderModel"):  # T5 and its relatives
        return getattr(transformers, name), True
    if not encoder_only:
        return model_class, False
    if not getattr(config, "is_encoder_decoder", False):
        raise CheckpointError(f"{path}: {model_class.__name__} has no separate encoder: leave ':encoder' out.")
    with torch.device("meta"):
        return type(model_class(config).get_encoder()), True


def _made_on_meta(path: Path, model_class: type[PreTrainedModel], config: PreTrainedConfig) -> PreTrainedModel:
    """Make the model that a configuration describes, without memory for its weights."""
    try:
        with torch.device("meta"):
            return model_class(config)
    except Exception as error:  # the model classes raise many kinds of errors for numbers that do not fit together
        reason = first_line(error)
        raise CheckpointError(f"{path}: {model_class.__name__} cannot be made of these settings: {reason}") from None


def _check_size(path: Path, model: PreTrainedModel, files: Sequence[Path]) -> None:
    """Refuse a model that its files of weights or the memory of this machine cannot hold."""
    count = sum(weight.numel() for weight in model.parameters())
    size = sum(file.stat().st_size for file in files)
    if count > size:
        raise CheckpointError(f"{path} describes {count:,} weights; the files of weights have only {size:,} bytes.")
    needed = 4 * count + sum(buffer.numel() * buffer.element_size() for buffer in model.buffers())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise CheckpointError(
            f"{path} describes a model of {needed / 1e9:,.0f} GB; this machine has {memory / 1e9:,.0f} GB of memory."
        )


def _check_weights(
    folder: Path, model_class: type[PreTrainedModel], config: PreTrainedConfig, shapes: Mapping[str, torch.Tensor]
) -> list[str]:
    """Compare names and shapes of all weights with the model's; return the names of weights that are left out."""
    model, report = _from_weights(model_class, config, shapes, torch.device("meta"))
    inside = _names_inside(model)
    missing = {name for name in report["missing_keys"] if not name.startswith(POOLER)}
    unexpected = {name for name in report["unexpected_keys"] if inside(name)}
    faults = [f"missing: {name}" for name in sorted(missing)]
    faults += [f"unexpected: {name}" for name in sorted(unexpected)]
    faults += [
        f"{name}: {tuple(actual)} where the configuration asks for {tuple(expected)}"
        for name, actual, expected in sorted(report["mismatched_keys"])
    ]
    faults += report["error_msgs"]
    if faults:
        shown = faults[:_SHOWN_FAULTS]
        if more := len(faults) - len(shown):
            shown.append(f"... and {more} more")
        lines = "\n".join(f"  - {fault}" for fault in shown)
        raise CheckpointError(f"{folder}: the weights are not those of this {model_class.__name__}:\n{lines}")
    return sorted(name for name in report["unexpected_keys"] - unexpected if not name.startswith(_OTHER_HEADS))


def _names_inside(model: PreTrainedModel) -> Any:
    """Return a function that tells whether a weight that the model lacks would be one of its layers."""
    prefix, children = f"{model.base_model_prefix}.", {name for name, _ in model.named_children()}

    def inside(name: str) -> bool:
        part = name.removeprefix(prefix).partition(".")[0]
        return part in children and part != POOLER.rstrip(".")

    return inside


def _from_weights(
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


def _renamed(
    weights: Mapping[str, torch.Tensor], model_class: type[PreTrainedModel], encoder_only: bool
) -> Mapping[str, torch.Tensor]:
    """Rename the weights of a whole model for the class of its encoder, and leave out the other weights."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES

    if not encoder_only or model_class.__name__ in MODEL_FOR_TEXT_ENCODING_MAPPING_NAMES.values():
        return weights
    names = {name: name.removeprefix(f"{model_class.base_model_prefix}.") for name in weights}
    if any(name.startswith("encoder.") for name in names.values()):
        embeddings = {name for name in names if names[name] == "shared.weight"}
        inside = {name: new.removeprefix("encoder.") for name, new in names.items() if new.startswith("encoder.")}
        if "embed_tokens.weight" not in inside.values():
            inside |= dict.fromkeys(embeddings, "embed_tokens.weight")
        names = inside
    return {new: weights[name] for name, new in names.items()}


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
