"""DeBERTa v2 and v3 read flat batches: their attention over padded sequences, all else without padding.

The attention of DeBERTa (He et al. 2021) adds to the score of two tokens what the query says about their distance, and
what the key says about it. The library computes these terms for all distances that a model knows, 512 in each layer;
here they are computed for the distances inside the longest sequence of the batch.

A CPU computes attention in buckets of similar lengths. An accelerator waits for each operator, so that it computes all
sequences at once, and reads nothing but tensors of the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MethodType
from typing import TYPE_CHECKING, Any, Self, final

import torch

from benchrunner.engine import FlatBatch
from benchrunner_checkpoints import buckets

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MODEL_TYPE = "deberta-v2"
COSTS = (24, 400)
"""Costs of attention in pairs of tokens of twelve heads: the cost of each token, and the fixed cost of a bucket."""


@final
@dataclass(frozen=True)
class AllSequences:
    """All sequences of a batch as one padded batch, like a `Bucket`, without reading the lengths."""

    batch: FlatBatch
    padded = True

    @property
    def longest(self) -> int:
        """Tokens that each sequence has with its padding."""
        return self.batch.longest_border

    @cached_property
    def _sources(self) -> torch.Tensor:
        """The token of each place: int (N * longest,). In the padding, it is the first token of the batch."""
        tokens = torch.arange(len(self.batch.tokens), device=self.batch.tokens.device)
        return self.batch.padded(tokens, 0).flatten()

    @cached_property
    def _places(self) -> torch.Tensor:
        """The place of each token: int (T,). A token of the filling gets the place of another token."""
        starts, positions = self.batch.starts, self.batch.positions
        tokens = torch.arange(len(positions), dtype=starts.dtype, device=starts.device)
        owner = torch.searchsorted(starts[1:], tokens, right=True).clamp(max=len(starts) - 2)
        return owner * self.longest + positions

    @cached_property
    def _mask(self) -> torch.Tensor:
        return self.batch.padded(torch.ones_like(self.batch.tokens), 0)

    def pad(self, values: torch.Tensor, filling: float) -> torch.Tensor:
        """Turn values per token into a padded batch: (T, ...) -> (N, longest, ...). `mask` hides the padding."""
        return values.index_select(0, self._sources).view(-1, self.longest, *values.shape[1:])

    def mask(self, device: torch.device) -> torch.Tensor:
        """Return the attention mask: int64 (N, longest)."""
        return self._mask

    def unpad(self, states: torch.Tensor) -> torch.Tensor:
        """Turn values of the padded batch into those of all tokens: (N, longest, ...) -> (T, ...)."""
        return states.flatten(0, 1).index_select(0, self._places)


@final
@dataclass(frozen=True)
class Distances:
    """The padded parts of a batch, and the distances of tokens. The layers pass this on in place of the library's."""

    batch: FlatBatch
    parts: Sequence[buckets.Bucket | AllSequences]
    table: Table

    @classmethod
    def of(cls, model: PreTrainedModel, batch: FlatBatch) -> Self:
        attention: Any = model.encoder.layer[0].attention.self
        device = batch.tokens.device
        parts = _cheapest(batch) if device.type == "cpu" else [AllSequences(batch)]
        # An accelerator gets tables of few sizes, which stay there: a batch then waits for none to be copied.
        longest = parts[-1].longest if device.type == "cpu" else -(-batch.longest_border // 64) * 64
        settings = attention.pos_ebd_size, attention.position_buckets, attention.max_relative_positions
        return cls(batch, parts, distance_table(longest, *settings, device))


@final
@dataclass(frozen=True)
class Table:
    """The rows of the distance embeddings for all pairs of places below a number of tokens."""

    places: torch.Tensor
    """int64 (longest, longest): the row for each query and key."""
    mirrored: torch.Tensor
    """int64 (longest, longest): the row for each key and query; at the ends of the table it is not the same row."""
    by_distance: tuple[torch.Tensor, torch.Tensor]
    """Places and mirrored places for key minus query from 1 - longest to longest - 1: int64 (2 * longest - 1,) each."""
    first: int
    """First row of the distance embeddings that is needed; places count from it."""
    stop: int
    """Row after the last row that is needed."""


@lru_cache(maxsize=8)  # an accelerator needs a table for each 64 tokens; tables of 512 tokens have 4 MB
@torch.inference_mode(False)
def distance_table(longest: int, span: int, buckets: int, most: int, device: torch.device) -> Table:
    """Look up the distances of all pairs of tokens, on the CPU.

    Training may read a table that a prediction made, and autograd refuses tensors that inference mode made.
    """
    from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position

    tokens = torch.empty(longest, 1)
    distances = build_relative_position(tokens, tokens, bucket_size=buckets, max_position=most)[0]
    places = (span + distances).clamp(0, 2 * span - 1)
    mirrored = (span - distances).clamp(0, 2 * span - 1)
    first = int(min(places.min(), mirrored.min()))
    last = int(max(places.max(), mirrored.max()))
    places = (places - first).to(device)
    mirrored = (mirrored - first).to(device)
    by_distance = (
        torch.cat([places[1:, 0].flip(0), places[0]]),
        torch.cat([mirrored[0, 1:].flip(0), mirrored[:, 0]]),
    )
    return Table(places, mirrored, by_distance, first, last + 1)


def _cheapest(batch: FlatBatch) -> list[buckets.Bucket]:
    """Divide a batch into the buckets that cost attention the least time on a CPU: see `COSTS`."""
    per_token, overhead = COSTS
    return buckets.cheapest(batch.blocks, lambda count, length: count * length * (length + per_token) + overhead)


def is_disentangled(model: PreTrainedModel) -> bool:
    """Whether the model is a DeBERTa v2 or v3 without the parts that need padded sequences, such as convolutions."""
    if model.config.model_type != MODEL_TYPE or not getattr(model.config, "relative_attention", False):
        return False
    return getattr(model.encoder, "conv", None) is None and getattr(model, "z_steps", 0) <= 1


def disentangled_states(model: PreTrainedModel, batch: FlatBatch) -> Iterator[torch.Tensor]:
    """Compute the embeddings, then the states after each layer: (T, hidden) each."""
    segments = batch.segments[None] if model.config.type_vocab_size > 1 else None
    hidden = model.embeddings(input_ids=batch.tokens[None], token_type_ids=segments, position_ids=batch.positions[None])
    yield hidden[0]
    distances = Distances.of(model, batch)
    embeddings = model.encoder.get_rel_embedding()
    for layer in model.encoder.layer:
        attention = layer.attention.self
        if "forward" not in vars(attention):
            attention.forward = MethodType(_forward, attention)
        hidden, _ = layer(hidden, None, relative_pos=distances, rel_embeddings=embeddings)
        yield hidden[0]


def _forward(
    attention: Any,
    hidden: torch.Tensor,
    mask: torch.Tensor | None,
    output_attentions: bool = False,
    *,
    relative_pos: Distances | torch.Tensor | None = None,
    rel_embeddings: torch.Tensor | None = None,
    **options: object,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Take the place of the forward pass of an attention module, for flat batches only."""
    if not isinstance(relative_pos, Distances):
        result: tuple[torch.Tensor, torch.Tensor | None] = type(attention).forward(
            attention,
            hidden,
            mask,
            output_attentions,
            relative_pos=relative_pos,
            rel_embeddings=rel_embeddings,
            **options,
        )
        return result
    assert rel_embeddings is not None
    return _attend(attention, hidden[0], relative_pos, rel_embeddings)[None], None


def _attend(attention: Any, hidden: torch.Tensor, distances: Distances, embeddings: torch.Tensor) -> torch.Tensor:
    """Compute the attention of one layer over a flat batch: (T, hidden) -> (T, hidden)."""
    heads = attention.num_attention_heads
    table = distances.table
    rows = attention.pos_dropout(embeddings[table.first : table.stop])
    shared = attention.share_att_key
    of_keys = None
    of_queries = None
    terms = 1
    if "c2p" in attention.pos_att_type:
        of_keys = (attention.key_proj if shared else attention.pos_key_proj)(rows)
        terms += 1
    if "p2c" in attention.pos_att_type:
        of_queries = (attention.query_proj if shared else attention.pos_query_proj)(rows)
        terms += 1
    scale = (attention.attention_head_size * terms) ** -0.5
    query = attention.query_proj(hidden).unflatten(-1, (heads, -1))
    key = attention.key_proj(hidden).unflatten(-1, (heads, -1))
    value = attention.value_proj(hidden).unflatten(-1, (heads, -1))
    compiled = getattr(distances.batch.kernels, "attend_by_distance", None)
    if compiled is not None:
        qkv = torch.stack([query, key, value], 1)
        tables = []
        for rows, places in zip((of_keys, of_queries), table.by_distance, strict=True):
            tables.append(None if rows is None else rows[places].unflatten(-1, (heads, -1)))
        states: torch.Tensor | None = compiled(qkv, distances.batch.starts, *tables, scale, *_drawn(attention.dropout))
        if states is not None:
            return states.flatten(1)
    # Every score has the same scale, so that it is enough to scale the queries, and the keys' view of the distances.
    query = query * scale
    parts = []
    for part in distances.parts:
        queries, keys, values = (part.pad(states, 0).permute(2, 0, 1, 3) for states in (query, key, value))
        size = part.longest
        scores = queries @ keys.transpose(-1, -2)  # (heads, count, longest, longest)
        if of_keys is not None:
            scores = scores + _at(queries, of_keys, table.places[:size, :size])
        if of_queries is not None:
            scores = scores + _at(keys, of_queries * scale, table.mirrored[:size, :size]).transpose(-1, -2)
        if part.padded:
            hidden_keys = part.mask(scores.device)[:, None] == 0
            scores = scores.masked_fill(hidden_keys, torch.finfo(scores.dtype).min)
        probabilities = attention.dropout(torch.softmax(scores, -1))
        context = probabilities.to(values.dtype) @ values
        parts.append(part.unpad(context.permute(1, 2, 0, 3)).flatten(1))
    filling = len(hidden) - sum(map(len, parts))
    if filling:
        parts.append(hidden.new_zeros(filling, hidden.shape[-1], dtype=parts[0].dtype))
    return torch.cat(parts)


def _drawn(dropout: torch.nn.Dropout) -> tuple[float, int]:
    """Return the rate and the seed by which a kernel draws the mask of a dropout layer; 0 and 0 if nothing is dropped.

    The seed comes from torch's global generator, as that of a layer's own mask.
    """
    if not dropout.training or dropout.p == 0:
        return 0.0, 0
    return dropout.p, int(torch.randint(2**62, (), dtype=torch.int64))


def _at(states: torch.Tensor, rows: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Multiply states with the row of each distance.

    (heads, count, longest, size) -> (heads, count, longest, longest)
    """
    heads, count, longest, size = states.shape
    table = rows.view(len(rows), heads, size).permute(1, 2, 0)  # (heads, size, rows)
    products = states.reshape(heads, count * longest, size) @ table
    products = products.view(heads, count, longest, -1)
    return products.gather(-1, places.expand(heads, count, longest, longest))
