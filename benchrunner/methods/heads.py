"""Heads: the layers that methods put on top of an encoder, and the summaries of sequences that they read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Literal

import torch
from torch import Tensor, nn

from benchrunner.backbones.encoder import Encoder
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.randomness import generator
from benchrunner.problems.problem import HeadShape

INITIAL_DEVIATION = 0.02
"""Standard deviation of fresh weights, drawn from a truncated normal (Devlin et al. 2019, released code)."""
ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "gelu": nn.functional.gelu}
"""A recipe's `head_layer` -> the activation of the dense layer."""


class Head(nn.Module, ABC):
    """Layers that turn hidden states into an output for each sequence, in the order of the units, or each token."""

    level: Literal["sequence", "token"]

    @abstractmethod
    def forward(self, encoder: Encoder, batch: FlatBatch) -> Tensor:
        """Run the encoder and compute the outputs from its last layer."""


class LinearHead(Head):
    """Dropout, then a linear layer over each sequence's summary, its summary token's state, or each token's state.

    A dense layer with an activation, and dropout, may stand before the linear layer (Liu et al. 2019, released code).
    """

    def __init__(
        self,
        hidden: int,
        shape: HeadShape,
        *,
        seed: int,
        summary_bias: bool = True,
        summary: str = "pooler",
        layer: str = "none",
    ) -> None:
        """Draw fresh weights. `summary_bias` says whether a layer that reads the encoder's own summaries has a bias.

        `summary` is the recipe's; it has no effect if the shape reads no summaries. `layer` is its `head_layer`.
        """
        super().__init__()
        self.level = shape.level
        self.shape = shape
        self.summary = summary
        without_bias = shape.reads_summary and summary == "pooler" and not summary_bias
        self.output = nn.Linear(hidden, shape.width, bias=not without_bias)
        draw(self.output.weight, generator(seed, "head"))
        if self.output.bias is not None:
            nn.init.zeros_(self.output.bias)
        self.layer = layer
        if layer != "none":
            self.dense = nn.Linear(hidden, hidden)
            draw(self.dense.weight, generator(seed, "head layer"))
            nn.init.zeros_(self.dense.bias)

    def forward(self, encoder: Encoder, batch: FlatBatch) -> Tensor:
        if self.shape.reads_summary and self.summary == "pooler":
            hidden = encoder.summarized(batch)
        elif self.shape.reads_summary:
            hidden = summarize(self.summary, encoder, encoder(batch), batch)
        elif self.level == "sequence":
            hidden = encoder(batch).index_select(0, encoder.summary_tokens(batch))
        else:
            hidden = encoder.token_states(encoder(batch), batch)
        rate = encoder.dropout if self.shape.dropout else 0.0
        hidden = batch.dropout(hidden, rate, "head")
        # In fp32: half precision has so few different values that scores would often be equal.
        with torch.autocast(hidden.device.type, enabled=False):
            hidden = hidden.float()
            if self.layer != "none":
                hidden = batch.dropout(ACTIVATIONS[self.layer](self.dense(hidden)), rate, "head layer")
            outputs: Tensor = self.output(hidden)
        return outputs.index_select(0, batch.restore) if self.level == "sequence" else outputs


def draw(weight: Tensor, source: torch.Generator) -> None:
    """Fill a weight from a normal distribution that is truncated at two standard deviations."""
    most = 2 * INITIAL_DEVIATION
    nn.init.trunc_normal_(weight, std=INITIAL_DEVIATION, a=-most, b=most, generator=source)


def summarize(
    choice: str,
    encoder: Encoder,
    hidden: Tensor,
    batch: FlatBatch,
) -> Tensor:
    """Compute the summary that a recipe's `summary` names: (T, hidden) -> (N, hidden), in the order of the batch."""
    if choice == "pooler":
        return encoder.summary(hidden, batch)
    if choice == "first":
        return hidden.index_select(0, batch.starts[:-1])
    if choice == "last":
        return hidden.index_select(0, batch.starts[1:] - 1)
    summaries = []
    for block in batch.blocks:
        states = hidden[block.start : block.stop].float()  # a mean in half precision would lose bits
        by_sequence = states.view(block.count, block.length, -1)
        summaries.append(by_sequence.mean(1) if choice == "mean" else by_sequence.amax(1))
    return torch.cat(summaries)
