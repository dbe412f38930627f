"""What methods put on top of an encoder."""

from __future__ import annotations

import torch
from torch import nn

from benchrunner.encoders import Encoder
from benchrunner.flat import FlatBatch
from benchrunner.problems import HeadShape
from benchrunner.randomness import generator

INITIAL_DEVIATION = 0.02
"""Of fresh weights: truncated normal (Devlin et al. 2019, released code)."""


class LinearHead(nn.Module):
    """Dropout, then one linear layer over each sequence's summary or each token's state."""

    def __init__(self, hidden: int, shape: HeadShape, *, seed: int) -> None:
        super().__init__()
        self.level = shape.level
        self.output = nn.Linear(hidden, shape.width)
        draw(self.output.weight, generator(seed, "head"))
        nn.init.zeros_(self.output.bias)

    def forward(self, encoder: Encoder, batch: FlatBatch) -> torch.Tensor:
        hidden = encoder(batch)
        if self.level == "sequence":
            hidden = encoder.summary(hidden, batch)
        states = batch.dropout(hidden, encoder.dropout, "head")
        outputs: torch.Tensor = self.output(states)
        return outputs.index_select(0, batch.restore) if self.level == "sequence" else outputs


def draw(weight: torch.Tensor, source: torch.Generator) -> None:
    """Fresh weights in place: a normal distribution cut at two deviations."""
    nn.init.trunc_normal_(
        weight, std=INITIAL_DEVIATION, a=-2 * INITIAL_DEVIATION, b=2 * INITIAL_DEVIATION, generator=source
    )
