"""Models of transformers read flat batches, without padding: our own attention function takes the place of theirs.

transformers lets a model's attention be replaced by a registered function. A flat batch of T tokens goes through such a
model as one row, (1, T): embeddings, linear layers and norms treat every token in the same way, and our function lets
every token attend to the tokens of its own sequence only.
"""

from __future__ import annotations

import inspect
import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from benchrunner.engine import Features, FlatBatch, Sequences, collate
from benchrunner_checkpoints import attend
from benchrunner_transformers.checkpoint.habits import is_near, takes_segments, without_cache
from benchrunner_transformers.model.disentangled import disentangled_states, is_disentangled
from benchrunner_transformers.model.last_layer import ARGUMENT, Attended, FlatPass, narrow, widen
from benchrunner_transformers.model.layers import layers_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

NAME = "benchrunner_flat"
"""Name of our attention function in the registries of transformers."""

HARMLESS = frozenset(
    {"deterministic", "is_causal", "output_hidden_states", "position_ids", "sliding_window", "use_cache"}
)
"""Arguments of attention functions that our function may ignore: which tokens a token sees is known from the mask."""

FAULTS = (TypeError, ValueError, RuntimeError, AttributeError, LookupError)
"""What the code of a model may raise if the model cannot read a flat batch."""


class UnreadableError(ValueError):
    """The model's attention needs a mask or a term that attention over a flat batch cannot compute."""


@dataclass(frozen=True)
class Sight:
    """The tokens that each token of a sequence attends to. Models of transformers pass it on in place of a mask."""

    direction: Literal["both", "left-to-right"]
    window: int | None
    """How many tokens away the farthest of these tokens is; None: as far as the sequence reaches."""


def reads_flat(model: PreTrainedModel) -> bool:
    """Whether the model computes the same states from a flat batch as its own code does from a padded batch.

    First the model's class must declare that its attention is replaceable and that it takes positions, unless the model
    is a DeBERTa v2 or v3: these have an attention function of their own here. Then the states of three short sequences
    are computed in both ways and compared. The model is complete, and in evaluation mode.
    """
    return (is_disentangled(model) or _is_replaceable(model)) and _agrees(model)


def reads_last_tokens(model: PreTrainedModel) -> bool:
    """Let the last layer of a model that reads flat batches compute few tokens only, and return whether it can.

    The states of two tokens are computed in both ways and compared. The model is in evaluation mode.
    """
    layers = layers_of(model)
    if is_disentangled(model) or not layers:
        return False
    narrow(layers[-1])
    can = _narrows(model)
    if not can:
        widen(layers[-1])
    return can


def flat_states(model: PreTrainedModel, batch: FlatBatch) -> tuple[torch.Tensor, ...]:
    """Compute the embeddings, then the states after each layer, as `output_hidden_states=True`: (T, hidden) each."""
    if is_disentangled(model):
        return tuple(disentangled_states(model, batch))
    return tuple(state.squeeze(0) for state in _run(model, batch, all_states=True).hidden_states)


def last_flat_state(model: PreTrainedModel, batch: FlatBatch, tokens: torch.Tensor | None = None) -> torch.Tensor:
    """Compute the states of the last layer without keeping those of the other layers: (T, hidden).

    With `tokens`, compute only the states of these tokens, (N, hidden); see `reads_last_tokens`.
    """
    if is_disentangled(model):
        [last] = deque(disentangled_states(model, batch), maxlen=1)
        return last
    state: torch.Tensor = _run(model, batch, tokens, all_states=False).last_hidden_state.squeeze(0)
    return state


def _run(model: PreTrainedModel, batch: FlatBatch, tokens: torch.Tensor | None = None, *, all_states: bool) -> Any:
    """Run the model on a flat batch as one row. The attention function stays set, for recomputed layers."""
    _register()
    if model.config._attn_implementation != NAME:
        model.config._attn_implementation = NAME
    inputs = {
        "input_ids": batch.tokens[None],
        "attention_mask": torch.ones_like(batch.tokens)[None],  # so that masks are not guessed from the positions
        "position_ids": _position_ids(model, batch)[None],
        ARGUMENT: FlatPass(batch, tokens),  # reaches `_attention`
    }
    return _call(model, inputs, batch.segments[None], all_states=all_states)


def _call(model: PreTrainedModel, inputs: dict[str, Any], segments: torch.Tensor, *, all_states: bool) -> Any:
    """Call the model with the inputs, and with the segments if the model takes them."""
    if takes_segments(model):
        inputs["token_type_ids"] = segments
    return model(**inputs, **without_cache(model), output_hidden_states=all_states, return_dict=True)


def _position_ids(model: PreTrainedModel, batch: FlatBatch) -> torch.Tensor:
    """Compute the ids of the tokens' positions: int64 (T,).

    RoBERTa and models like it count from the padding's id + 1, and do not count padding tokens inside the text.
    """
    padding = _padding_of_positions(model)
    if padding is None:
        return batch.positions
    counted = (batch.tokens != padding).long()
    before = counted.cumsum(0) - counted
    first = torch.arange(len(counted), device=counted.device) - batch.positions  # first token of the token's sequence
    return (before + counted - before[first]) * counted + padding


def _padding_of_positions(model: PreTrainedModel) -> int | None:
    """Return the padding's id if the model derives positions from it, else None."""
    embeddings: Any = getattr(model, "embeddings", None)
    if hasattr(embeddings, "create_position_ids_from_input_ids"):
        return int(embeddings.padding_idx)
    return None


def _register() -> None:
    """Offer our functions to transformers under our name."""
    from transformers.masking_utils import AttentionMaskInterface
    from transformers.modeling_utils import AttentionInterface

    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, _mask)


def _mask(q_length: int, mask_function: Callable[..., torch.Tensor], use_vmap: bool = False, **_: object) -> Sight:
    """Find out which tokens a model's layers may see; transformers calls this function to make a mask.

    `mask_function` says of each pair of indices whether the first token sees the second token.
    """
    if use_vmap:
        raise UnreadableError("The model changes the mask in ways of its own.")
    rows = torch.tensor([[0], [q_length // 2], [q_length - 1]])
    columns = torch.arange(q_length)[None]
    visible = mask_function(0, 0, rows, columns).expand(3, q_length)
    later, _, earlier = (visible.sum(1) - 1).tolist()
    if not torch.equal(visible, (columns >= rows - earlier) & (columns <= rows + later)):
        raise UnreadableError("Which tokens attend to each other in the model is no window of neighbours.")
    everything = q_length - 1
    if later == earlier:
        return Sight("both", None if later == everything else later)
    if later == 0:
        return Sight("left-to-right", None if earlier == everything else earlier)
    raise UnreadableError("The model's window is not equally wide on both sides.")


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: object,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    flat_pass: FlatPass | None = None,
    **options: object,
) -> tuple[torch.Tensor, None]:
    """Compute attention for transformers: (1, heads, T, size) three times -> (1, T, heads, size).

    Keys and values may have fewer heads than queries.
    """
    given = {name for name, value in options.items() if value is not None and value is not False}
    unknown = sorted(given - HARMLESS)
    if flat_pass is None or not isinstance(attention_mask, Sight) or unknown or key.shape[-1] != value.shape[-1]:
        raise UnreadableError(f"Attention over a flat batch does not compute this model's attention: {unknown}.")
    if flat_pass.context is not None:
        return flat_pass.context, None
    size = query.shape[-1]
    batch = flat_pass.batch
    factor = 1.0 if scaling is None else scaling * size**0.5  # `attend` divides by the root of the size
    if not math.isclose(factor, 1.0):
        query = query * factor
    parts = []  # (T, heads, size) each
    for states in (query, key, value):
        part = states.squeeze(0).transpose(0, 1).to(value.dtype)
        groups = query.shape[1] // part.shape[1]
        parts.append(part if groups == 1 else part.repeat_interleave(groups, 1))
    # Layers may share a module (ALBERT), and layers may be computed again in the backward pass. A number drawn from
    # torch's generator names the place: it is new for each layer, and restored when the layer is computed again.
    site = f"attention {torch.randint(2**62, ()).item()}" if dropout and batch.dropping else ""
    context = attend(
        torch.stack(parts, 1),
        batch,
        rate=dropout,
        site=site,
        direction=attention_mask.direction,
        window=attention_mask.window,
    )
    context = context.view(1, len(context), -1, size)
    if flat_pass.only_attention:
        raise Attended(context)
    return context, None


def _is_replaceable(model: PreTrainedModel) -> bool:
    """Whether the model's class declares what reading a flat batch needs."""
    parameters = inspect.signature(type(model).forward).parameters
    return (
        bool(getattr(model, "_supports_attention_backend", False))
        and not getattr(model.config, "is_encoder_decoder", False)
        and "position_ids" in parameters
        and any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    )


@torch.no_grad()
def _agrees(model: PreTrainedModel) -> bool:
    """Whether the states of short sequences are equal in a flat batch and in a padded batch."""
    batch, padded, mask = _examples(model)
    with _keeping_attention(model), torch.autocast(model.device.type, enabled=False):
        model.config._attn_implementation = "eager"  # the reference
        inputs = {"input_ids": padded, "attention_mask": mask.long()}
        try:
            expected = _call(model, inputs, torch.zeros_like(padded), all_states=True).hidden_states
            states = flat_states(model, batch)
        except FAULTS:
            return False
    rows = [state[mask] for state in expected]
    return len(states) == len(rows) and all(is_near(state, row) for state, row in zip(states, rows, strict=True))


@torch.no_grad()
def _narrows(model: PreTrainedModel) -> bool:
    """Whether the last layer computes the same states for two tokens as for all."""
    batch, _, _ = _examples(model)
    tokens = torch.tensor([3, 12], device=model.device)
    with _keeping_attention(model), torch.autocast(model.device.type, enabled=False):
        try:
            expected = last_flat_state(model, batch)[tokens]
            states = last_flat_state(model, batch, tokens)
        except FAULTS:
            return False
    return states.shape == expected.shape and is_near(states, expected)


def _examples(model: PreTrainedModel) -> tuple[FlatBatch, torch.Tensor, torch.Tensor]:
    """Make three short sequences: as a flat batch, as padded token ids (3, length), and the mask of the real tokens."""
    table = model.get_input_embeddings()
    size = len(table.weight)
    padding = table.padding_idx or 0
    starts = np.array([0, 3, 8, 13])
    ids = (1 + padding + np.arange(13) * 7919 % (size - 1)) % size  # any ids but that of the padding
    features = Features.of(Sequences(ids, np.zeros_like(ids), starts))
    batch = collate(features, np.arange(3), model.device)
    mask = batch.padded(torch.ones_like(batch.tokens), 0)
    return batch, batch.padded(batch.tokens, padding), mask.bool()


@contextmanager
def _keeping_attention(model: PreTrainedModel) -> Iterator[None]:
    """Set the model's attention function back at the end."""
    implementation = model.config._attn_implementation
    try:
        yield
    finally:
        model.config._attn_implementation = implementation
