"""What methods put on top of an encoder."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

import torch
from torch import nn

from benchrunner.backbones.encoder import Encoder
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.randomness import generator
from benchrunner.problems.problem import HeadShape

INITIAL_DEVIATION = 0.02
"""Of fresh weights: truncated normal (Devlin et al. 2019, released code)."""
BILSTM_WIDTH = 768
"""Numbers that a BiLSTM gives for each token, half of them from either direction (Devlin et al. 2019, 5.3)."""
BILSTM_LAYERS = 2

Kind = Literal["linear", "bilstm"]


class Head(nn.Module, ABC):
    """Hidden states in; out come one output a sequence in the units' order, or one a token in the batch's."""

    level: Literal["sequence", "token"]

    @abstractmethod
    def forward(self, encoder: Encoder, batch: FlatBatch) -> torch.Tensor:
        """Outputs of an encoder's last layer."""


class LinearHead(Head):
    """Dropout, then a linear layer over each sequence's summary, its first token's state, or each token's state."""

    def __init__(self, hidden: int, shape: HeadShape, *, seed: int) -> None:
        super().__init__()
        self.level, self.shape = shape.level, shape
        self.output = nn.Linear(hidden, shape.width)
        draw(self.output.weight, generator(seed, "head"))
        nn.init.zeros_(self.output.bias)

    def forward(self, encoder: Encoder, batch: FlatBatch) -> torch.Tensor:
        hidden = encoder(batch)
        if self.shape.reads_summary:
            hidden = encoder.summary(hidden, batch)
        elif self.level == "sequence":
            hidden = hidden.index_select(0, batch.starts[:-1])
        states = batch.dropout(hidden, encoder.dropout, "head") if self.shape.dropout else hidden
        outputs = _full(self.output, states)
        return outputs.index_select(0, batch.restore) if self.level == "sequence" else outputs


class BiLstmHead(Head):
    """Two bidirectional LSTM layers over each sequence, then a linear layer over each token or over both ends."""

    def __init__(self, hidden: int, shape: HeadShape, *, seed: int) -> None:
        super().__init__()
        self.level = shape.level
        widths = (hidden, *[BILSTM_WIDTH] * (BILSTM_LAYERS - 1))
        self.layers = nn.ModuleList(nn.LSTM(width, BILSTM_WIDTH // 2, bidirectional=True) for width in widths)
        self.output = nn.Linear(BILSTM_WIDTH, shape.width)
        source, bound = generator(seed, "head"), 1 / math.sqrt(BILSTM_WIDTH // 2)
        for weight in self.layers.parameters():
            nn.init.uniform_(weight, -bound, bound, generator=source)
        draw(self.output.weight, source)
        nn.init.zeros_(self.output.bias)

    def forward(self, encoder: Encoder, batch: FlatBatch) -> torch.Tensor:
        return self.read(encoder(batch), batch, rate=encoder.dropout)

    def read(self, hidden: torch.Tensor, batch: FlatBatch, *, rate: float) -> torch.Tensor:
        """Outputs of any states: (T, hidden)."""
        order, sizes = _by_time(batch)
        with torch.autocast(hidden.device.type, enabled=False):  # half precision has no LSTM everywhere
            states = hidden.float()[order]
            for number, layer in enumerate(self.layers):
                states = batch.dropout(states, rate, f"bilstm {number}")
                states = layer(nn.utils.rnn.PackedSequence(states, sizes))[0].data
            states = torch.zeros(len(hidden), BILSTM_WIDTH, device=hidden.device).index_copy(0, order, states)
        if self.level == "sequence":
            first, last = batch.starts[:-1].long(), batch.starts[1:].long() - 1
            half = BILSTM_WIDTH // 2
            states = torch.cat([states[last, :half], states[first, half:]], dim=1).index_select(0, batch.restore)
        return _full(self.output, batch.dropout(states, rate, "head"))


class LayerMix(nn.Module):
    """A learned weighted sum of layers: weights by a softmax, then one factor (Peters et al. 2018)."""

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


HEADS: dict[Kind, type[LinearHead] | type[BiLstmHead]] = {"linear": LinearHead, "bilstm": BiLstmHead}


def _full(layer: nn.Linear, states: torch.Tensor) -> torch.Tensor:
    """Outputs in fp32 whatever the states are: half precision leaves a few hundred different scores, and so ties."""
    with torch.autocast(states.device.type, enabled=False):
        outputs: torch.Tensor = layer(states.float())
    return outputs


def _by_time(batch: FlatBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """Every sequence's first token, then every one's second, ..., the longest sequence first; and how many of each."""
    starts, lengths = batch.starts[:-1].long().flip(0), batch.starts.diff().long().flip(0)
    times = torch.arange(batch.longest, device=starts.device)[:, None]
    there = times < lengths
    return (starts + times)[there], there.sum(1).cpu()


def draw(weight: torch.Tensor, source: torch.Generator) -> None:
    """Fresh weights in place: a normal distribution cut at two deviations."""
    nn.init.trunc_normal_(
        weight, std=INITIAL_DEVIATION, a=-2 * INITIAL_DEVIATION, b=2 * INITIAL_DEVIATION, generator=source
    )
