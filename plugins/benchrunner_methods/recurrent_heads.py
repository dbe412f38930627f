"""The head of two BiLSTM layers (Devlin et al. 2019, 5.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from benchrunner.engine import FlatBatch, arrays, heads, randomness

if TYPE_CHECKING:
    from benchrunner.engine import Encoder, HeadShape, Job

LAYERS = 2
"""Layers of a BiLSTM before the classifier (Devlin et al. 2019, 5.3)."""
INITIAL_DEVIATION = 0.02
"""Standard deviation of fresh weights of linear layers (Devlin et al. 2019, released code)."""


def bilstm_head(encoder: Encoder, job: Job) -> BiLstmHead:
    """Make a BiLSTM head with fresh weights, as the problem of a job needs it."""
    return BiLstmHead(encoder.hidden_size, job.problem.head, seed=job.fit.seed, width=job.fit.recipe.bilstm_width)


class BiLstmHead(heads.Head):
    """Two BiLSTM layers over each sequence, then a linear layer over each token, or over both ends of the sequence."""

    def __init__(self, hidden: int, shape: HeadShape, *, seed: int, width: int) -> None:
        """Draw fresh weights. `width` is the size of a layer's output for a token, both directions together."""
        super().__init__()
        self.level = shape.level
        self.width = width
        sizes = (hidden, *[width] * (LAYERS - 1))
        self.layers = nn.ModuleList(nn.LSTM(size, width // 2, bidirectional=True) for size in sizes)
        self.output = nn.Linear(width, shape.width)
        source = randomness.generator(seed, "head")
        bound = 1 / math.sqrt(width // 2)
        for weight in self.layers.parameters():
            nn.init.uniform_(weight, -bound, bound, generator=source)
        draw_linear(self.output, source)

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
                states = self._ends(states, batch)
            # Half precision has so few different values that scores would often be equal.
            outputs: torch.Tensor = self.output(batch.dropout(states, rate, "head"))
        return outputs

    def _ends(self, states: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Join what each direction has read when it reaches the end of a sequence, in the order of the units."""
        first = batch.starts[:-1].long()
        last = batch.starts[1:].long() - 1
        half = self.width // 2
        return torch.cat([states[last, :half], states[first, half:]], dim=1).index_select(0, batch.restore)


def draw_linear(layer: nn.Linear, source: torch.Generator) -> None:
    """Draw a weight from a normal distribution that is truncated at two standard deviations; the bias is zero."""
    most = 2 * INITIAL_DEVIATION
    nn.init.trunc_normal_(layer.weight, std=INITIAL_DEVIATION, a=-most, b=most, generator=source)
    nn.init.zeros_(layer.bias)


def time_order(batch: FlatBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the order of tokens that torch's `PackedSequence` needs, and the number of sequences at each time step.

    The order has the first token of every sequence, the longest sequence first, then every second token, and so on. The
    numbers are on the CPU, where `PackedSequence` wants them.
    """
    lengths = batch.lengths[::-1]
    starts = batch.real - np.cumsum(lengths)
    steps = np.arange(batch.longest)[:, None]
    present = steps < lengths
    order = arrays.on_device({"order": (starts + steps)[present]}, batch.tokens.device)["order"]
    return order, torch.from_numpy(present.sum(1))
