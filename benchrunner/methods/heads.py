"""Heads: the layers that methods put on top of an encoder."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

import torch
from torch import nn

from benchrunner.backbones.encoder import Encoder
from benchrunner.features.flat_batch import FlatBatch, time_order
from benchrunner.features.randomness import generator
from benchrunner.methods.summaries import summarize
from benchrunner.problems.problem import HeadShape

INITIAL_DEVIATION = 0.02
"""Standard deviation of fresh weights, drawn from a truncated normal (Devlin et al. 2019, released code)."""
BILSTM_LAYERS = 2
"""Devlin et al. 2019, 5.3."""

Kind = Literal["linear", "bilstm"]


class Head(nn.Module, ABC):
    """Layers that turn hidden states into an output for each sequence, in the order of the units, or each token."""

    level: Literal["sequence", "token"]

    @abstractmethod
    def forward(self, encoder: Encoder, batch: FlatBatch) -> torch.Tensor:
        """Run the encoder and compute the outputs from its last layer."""


class LinearHead(Head):
    """Dropout, then a linear layer over each sequence's summary, its summary token's state, or each token's state."""

    def __init__(
        self, hidden: int, shape: HeadShape, *, seed: int, summary_bias: bool = True, summary: str = "pooler"
    ) -> None:
        """Draw fresh weights. `summary_bias` says whether a layer that reads the encoder's own summaries has a bias.

        `summary` is the recipe's; it has no effect if the shape reads no summaries.
        """
        super().__init__()
        self.level, self.shape, self.summary = shape.level, shape, summary
        without_bias = shape.reads_summary and summary == "pooler" and not summary_bias
        self.output = nn.Linear(hidden, shape.width, bias=not without_bias)
        draw(self.output.weight, generator(seed, "head"))
        if self.output.bias is not None:
            nn.init.zeros_(self.output.bias)

    def forward(self, encoder: Encoder, batch: FlatBatch) -> torch.Tensor:
        if self.shape.reads_summary and self.summary == "pooler":
            hidden = encoder.summarized(batch)
        elif self.shape.reads_summary:
            hidden = summarize(self.summary, encoder, encoder(batch), batch)
        elif self.level == "sequence":
            hidden = encoder(batch).index_select(0, encoder.summary_tokens(batch))
        else:
            hidden = encoder.token_states(encoder(batch), batch)
        states = batch.dropout(hidden, encoder.dropout, "head") if self.shape.dropout else hidden
        outputs = _in_full_precision(self.output, states)
        return outputs.index_select(0, batch.restore) if self.level == "sequence" else outputs


class BiLstmHead(Head):
    """Two BiLSTM layers over each sequence, then a linear layer over each token, or over both ends of the sequence."""

    def __init__(self, hidden: int, shape: HeadShape, *, seed: int, width: int) -> None:
        """Draw fresh weights. `width` is the size of a layer's output for a token, both directions together."""
        super().__init__()
        self.level, self.width, half = shape.level, width, width // 2
        sizes = (hidden, *[width] * (BILSTM_LAYERS - 1))
        self.layers = nn.ModuleList(nn.LSTM(size, half, bidirectional=True) for size in sizes)
        self.output = nn.Linear(width, shape.width)
        source, bound = generator(seed, "head"), 1 / math.sqrt(half)
        for weight in self.layers.parameters():
            nn.init.uniform_(weight, -bound, bound, generator=source)
        draw(self.output.weight, source)
        nn.init.zeros_(self.output.bias)

    def forward(self, encoder: Encoder, batch: FlatBatch) -> torch.Tensor:
        return self.read(encoder(batch), batch, rate=encoder.dropout)

    def read(self, hidden: torch.Tensor, batch: FlatBatch, *, rate: float) -> torch.Tensor:
        """Compute the outputs from any states (T, hidden). `rate` is the dropout before each layer."""
        order, sizes = time_order(batch)
        with torch.autocast(hidden.device.type, enabled=False):  # not every device has an LSTM in half precision
            states = hidden.float()[order]
            for number, layer in enumerate(self.layers):
                states = batch.dropout(states, rate, f"bilstm {number}")
                states = layer(nn.utils.rnn.PackedSequence(states, sizes))[0].data
            states = torch.zeros(len(hidden), self.width, device=hidden.device).index_copy(0, order, states)
        if self.level == "sequence":
            first, last = batch.starts[:-1].long(), batch.starts[1:].long() - 1
            half = self.width // 2
            states = torch.cat([states[last, :half], states[first, half:]], dim=1).index_select(0, batch.restore)
        return _in_full_precision(self.output, batch.dropout(states, rate, "head"))


class LayerMix(nn.Module):
    """A learned weighted sum of layers: softmax weights and one factor (Peters et al. 2018)."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, layers: Sequence[torch.Tensor]) -> torch.Tensor:
        shares = torch.softmax(self.weights, 0)
        total = torch.zeros_like(layers[0])
        for share, layer in zip(shares, layers, strict=True):
            total = total + share * layer
        return self.factor * total


def _in_full_precision(layer: nn.Linear, states: torch.Tensor) -> torch.Tensor:
    """Compute outputs in fp32. Half precision has so few different values that scores would often be equal."""
    with torch.autocast(states.device.type, enabled=False):
        outputs: torch.Tensor = layer(states.float())
    return outputs


def draw(weight: torch.Tensor, source: torch.Generator) -> None:
    """Fill a weight from a normal distribution that is truncated at two standard deviations."""
    nn.init.trunc_normal_(
        weight, std=INITIAL_DEVIATION, a=-2 * INITIAL_DEVIATION, b=2 * INITIAL_DEVIATION, generator=source
    )
