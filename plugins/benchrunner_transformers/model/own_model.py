"""A model of a checkpoint's own code: made, filled with the weights, and called as the library's models are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from benchrunner import CheckpointError, Workspace
from benchrunner.engine import first_line
from benchrunner_transformers.checkpoint.checking import judge, prefix_of
from benchrunner_transformers.checkpoint.configuration import own_configuration
from benchrunner_transformers.checkpoint.own_code import OwnCode

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def made_of_own_code(
    path: Path, settings: Mapping[str, Any], code: OwnCode, workspace: Workspace, *, vocabulary: int
) -> PreTrainedModel:
    """Run the code of a checkpoint and make its model, on the CPU, with weights that torch's generator draws.

    `path` is config.json; `vocabulary` is the number of embeddings that the tokenizer needs.
    """
    from transformers import PreTrainedModel

    name = code.classes["AutoModel"]
    try:
        config = own_configuration(settings, code.load_class("AutoConfig", workspace))
        model_class = code.load_class("AutoModel", workspace)
        model = model_class(config) if issubclass(model_class, PreTrainedModel) else None
    except CheckpointError:
        raise
    except Exception as error:  # own code may fail in any way
        reason = f"{type(error).__name__}: {first_line(error)}"
        raise CheckpointError(f"{path}: the own code of the model failed to make {name}: {reason}") from error
    if model is None:
        raise CheckpointError(f"{path}: {name} is no PreTrainedModel of the library transformers.")
    _adapt(path, model, vocabulary)
    return model


def fill(folder: Path, model: PreTrainedModel, tensors: Mapping[str, torch.Tensor]) -> list[str]:
    """Give a model the weights of its checkpoint; return the names of weights that are no part of it.

    A checkpoint with a head has the model's weights under a prefix.
    """
    expected = model.float().state_dict()
    prefix = prefix_of(expected, tensors)
    given = {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    parameters = list(model.named_parameters(remove_duplicate=False))  # tied weights have several names
    held = {id(weight) for name, weight in parameters if name in given}
    tied = {name for name, weight in parameters if id(weight) in held}
    misshapen = [
        (name, given[name].shape, expected[name].shape)
        for name in expected.keys() & given.keys()
        if given[name].shape != expected[name].shape
    ]
    report = {
        "missing_keys": expected.keys() - given.keys() - tied,
        "unexpected_keys": given.keys() - expected.keys() - {name for name, _ in model.named_buffers()},
        "mismatched_keys": misshapen,
        "error_msgs": (),
    }
    left_out = judge(folder, model, given, report, "")
    model.load_state_dict(given, strict=False)
    return left_out


def _adapt(path: Path, model: PreTrainedModel, vocabulary: int) -> None:
    """Let the model be called with any of the library's arguments, and give outputs with `last_hidden_state`.

    Arguments that its own `forward` does not have are left out.
    """
    from transformers.modeling_outputs import BaseModelOutput

    forward = model.forward
    parameters = inspect.signature(forward).parameters
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    if "input_ids" not in parameters:
        raise CheckpointError(f"{path}: {type(model).__name__}.forward has no argument input_ids.")

    @functools.wraps(forward)
    def adapted(input_ids: torch.Tensor, **inputs: Any) -> Any:
        given = {name: value for name, value in inputs.items() if takes_all or name in parameters}
        if "attention_mask" in parameters and given.get("attention_mask") is None:
            given["attention_mask"] = torch.ones_like(input_ids)
        outputs = forward(input_ids=input_ids, **given)
        if isinstance(outputs, torch.Tensor):
            return BaseModelOutput(last_hidden_state=outputs)
        return BaseModelOutput(last_hidden_state=outputs[0]) if isinstance(outputs, tuple) else outputs

    model.forward = adapted
    table = _embeddings(model, vocabulary)
    if table is None:
        raise CheckpointError(
            f"{path}: {type(model).__name__} has no table of embeddings for the {vocabulary:,} tokens of the tokenizer."
        )
    model.get_input_embeddings = lambda: table


def _embeddings(model: PreTrainedModel, vocabulary: int) -> nn.Embedding | None:
    """Return a model's input embeddings: the table that it names, or else its first with a row for each token."""
    try:
        said = model.get_input_embeddings()
    except (AttributeError, NotImplementedError, TypeError):
        said = None
    for module in (said, *model.modules()):
        if isinstance(module, nn.Embedding) and module.num_embeddings >= vocabulary:
            return module
    return None
