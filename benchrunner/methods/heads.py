"""Heads: the layers that methods put on top of an encoder, and the summaries of sequences that they read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Literal

import torch
from torch import nn

from benchrunner.backbones.encoder import Encoder
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.randomness import generator
from benchrunner.problems.problem import HeadShape

INITIAL_DEVIATION = 0.02
"""Standard deviation of fresh weights, drawn from a truncated normal (Devlin et al. 2019, released code)."""


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


def summarize(choice: str, encoder: Encoder, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    """Compute the summary that a recipe's `summary` names: (T, hidden) -> (N, hidden), in the order of the batch."""
    if choice == "pooler":
        return encoder.summary(hidden, batch)
    return _SUMMARIES[choice](hidden, batch)


def _first(hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return hidden.index_select(0, batch.starts[:-1])


def _last(hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return hidden.index_select(0, batch.starts[1:] - 1)


def _mean(hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return torch.cat([block.mean(1) for block in _blocks(hidden, batch)])


def _max(hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
    return torch.cat([block.amax(1) for block in _blocks(hidden, batch)])


def _blocks(hidden: torch.Tensor, batch: FlatBatch) -> list[torch.Tensor]:
    """Return the states of each block, fp32 (sequences, length, hidden): a mean in half precision would lose bits."""
    return [
        hidden[block.start : block.stop].float().view(block.count, block.length, hidden.shape[1])
        for block in batch.blocks
    ]


_SUMMARIES: Mapping[str, Callable[[torch.Tensor, FlatBatch], torch.Tensor]] = {
    "first": _first,
    "last": _last,
    "mean": _mean,
    "max": _max,
}
