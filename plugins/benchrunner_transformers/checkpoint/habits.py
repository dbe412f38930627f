"""What a model does with padding and with later tokens, found by running it on two short sequences."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, final

import torch

from benchrunner_transformers.checkpoint.tokenizer import RELATIVE_SEGMENTS

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_LENGTHS = (9, 14)
"""Tokens of the short sequences: more than the width of a usual convolution, and different from one another."""


@final
@dataclass(frozen=True)
class Habits:
    """How a model reads its input."""

    left_to_right: bool
    """Whether the state of a token depends on no later token."""
    mixes_padding: bool
    """Whether the states of a sequence depend on its padding, so that only equal lengths can share a batch."""
    mixes_tokens: bool
    """Whether the state of a token depends on other tokens. If not, the model's attention computes nothing here."""
    gives_states: bool
    """Whether the model gives states of tokens; see `gives_states`."""
    width: int
    """Numbers in the state of a token."""
    takes_mask: bool
    takes_segments: bool
    """Whether the model has embeddings for several segments, or relative segments like XLNet."""
    padding: int
    """Token id of padding."""

    @classmethod
    @torch.no_grad()
    def of(cls, model: PreTrainedModel) -> Self:
        """Run a model in evaluation mode."""
        arguments = inspect.signature(model.forward).parameters
        table = model.get_input_embeddings()
        padding = 0 if table.padding_idx is None else int(table.padding_idx)
        ids = (1 + padding + torch.arange(_LENGTHS[1])) % len(table.weight)
        ids = torch.where(ids == padding, ids[0], ids)
        whole = _states(model, ids)
        other_start = _states(model, torch.cat([ids[-1:], ids[1:]]))
        return cls(
            left_to_right=is_near(whole[:-1], _states(model, torch.cat([ids[:-1], ids[:1]]))[:-1]),
            mixes_padding=not is_near(_states(model, ids[: _LENGTHS[0]]), _padded(model, ids, padding)),
            mixes_tokens=not torch.equal(whole[1:], other_start[1:]),
            gives_states=gives_states(model, model(input_ids=ids[None], **without_cache(model))),
            width=whole.shape[-1],
            takes_mask="attention_mask" in arguments,
            takes_segments=takes_segments(model),
            padding=padding,
        )


@torch.no_grad()
def settle_attention(model: PreTrainedModel) -> None:
    """Let a model in evaluation mode compute attention with its plain code where the library's faster code differs.

    Both are run on a short sequence of different tokens.
    """
    faster = model.config._attn_implementation
    if faster in (None, "eager"):
        return
    vocabulary = len(model.get_input_embeddings().weight)
    tokens = (1 + torch.arange(_LENGTHS[1])) % vocabulary
    faster_states = _states(model, tokens)
    model.set_attn_implementation("eager")
    if is_near(faster_states, _states(model, tokens)):
        model.set_attn_implementation(faster)


def gives_states(model: PreTrainedModel, outputs: Mapping[str, Any]) -> bool:
    """Whether the outputs of a model have states of tokens. A model that gives logits instead is no encoder.

    These are Llama 4, and FSMT with its decoder.
    """
    if "last_hidden_state" not in outputs:
        return False
    width = outputs["last_hidden_state"].shape[-1]
    vocabulary = len(model.get_input_embeddings().weight)
    if width == getattr(model.config.get_text_config(), "hidden_size", width):
        return True
    return bool(width != vocabulary) and not getattr(model.config, "is_encoder_decoder", False)


def _states(model: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    states: torch.Tensor = model(input_ids=ids[None], **without_cache(model))[0][0]
    return states


def takes_segments(model: PreTrainedModel) -> bool:
    """Whether the model has embeddings for several segments (token types), or relative segments like XLNet."""
    if "token_type_ids" not in inspect.signature(model.forward).parameters:
        return False
    count = getattr(model.config, "type_vocab_size", None) or 0
    return count > 1 or model.config.model_type in RELATIVE_SEGMENTS


def without_cache(model: PreTrainedModel) -> dict[str, bool]:
    """Return the argument that keeps a model from storing keys and values for generation, if the model has one."""
    return {"use_cache": False} if "use_cache" in inspect.signature(model.forward).parameters else {}


def _padded(model: PreTrainedModel, ids: torch.Tensor, padding: int) -> torch.Tensor:
    """Compute the states of the shorter sequence in a batch with the longer sequence."""
    mask = torch.arange(_LENGTHS[1]) < torch.tensor(_LENGTHS)[:, None]
    inputs: dict[str, Any] = {"input_ids": torch.where(mask, ids, padding), **without_cache(model)}
    if "attention_mask" in inspect.signature(model.forward).parameters:
        inputs["attention_mask"] = mask.long()
    states: torch.Tensor = model(**inputs)[0][0, : _LENGTHS[0]]
    return states


def is_near(states: torch.Tensor, expected: torch.Tensor) -> bool:
    """Whether all numbers are finite, and apart by at most a ten-thousandth of the largest.

    In half precision, the limit is five hundredths.
    """
    tolerance = 1e-4 if expected.dtype == torch.float32 else 5e-2
    gap = (states - expected).abs().max()
    return bool(states.isfinite().all() and gap <= tolerance * expected.abs().max())
