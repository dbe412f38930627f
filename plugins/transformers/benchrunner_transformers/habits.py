"""What a model does with padding and with later tokens, found by running it on two short sequences."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, final

import torch

from benchrunner_transformers.tokenizer import RELATIVE_SEGMENTS

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_LENGTHS = (9, 14)
"""Tokens of the short sequences: more than the width of a usual convolution, and different from one another."""
_TOLERANCE = 1e-4
"""Share of the largest state by which states may differ and still count as equal."""


@final
@dataclass(frozen=True)
class Habits:
    """How a model reads its input."""

    left_to_right: bool
    """Whether the state of a token depends on no later token."""
    mixes_padding: bool
    """Whether the states of a sequence depend on its padding, so that only equal lengths can share a batch."""
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
        segments = "token_type_ids" in arguments and (
            (getattr(model.config, "type_vocab_size", None) or 0) > 1 or model.config.model_type in RELATIVE_SEGMENTS
        )
        table = model.get_input_embeddings()
        padding = 0 if table.padding_idx is None else int(table.padding_idx)
        ids = (1 + padding + torch.arange(_LENGTHS[1])) % len(table.weight)
        ids = torch.where(ids == padding, ids[0], ids)
        whole = _states(model, ids)
        return cls(
            left_to_right=_equal(whole[:-1], _states(model, torch.cat([ids[:-1], ids[:1]]))[:-1]),
            mixes_padding=not _equal(_states(model, ids[: _LENGTHS[0]]), _padded(model, ids, padding)),
            takes_mask="attention_mask" in arguments,
            takes_segments=segments,
            padding=padding,
        )


def _states(model: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    states: torch.Tensor = model(input_ids=ids[None])[0][0]
    return states


def _padded(model: PreTrainedModel, ids: torch.Tensor, padding: int) -> torch.Tensor:
    """Compute the states of the shorter sequence in a batch with the longer sequence."""
    mask = torch.arange(_LENGTHS[1]) < torch.tensor(_LENGTHS)[:, None]
    inputs = {"input_ids": torch.where(mask, ids, padding)}
    if "attention_mask" in inspect.signature(model.forward).parameters:
        inputs["attention_mask"] = mask.long()
    states: torch.Tensor = model(**inputs)[0][0, : _LENGTHS[0]]
    return states


def _equal(states: torch.Tensor, other: torch.Tensor) -> bool:
    return bool((states - other).abs().max() <= _TOLERANCE * states.abs().max())
