"""The head of Wang et al. 2018 for a text or a pair: BiLSTM, attention between the texts, BiLSTM, max pooling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from torch import nn

from benchrunner.engine import FlatBatch, randomness, read_one_way
from benchrunner_methods.bilstm_head import draw_linear

CLASSIFIER_WIDTH = 512
"""Hidden units of the classifier (Wang et al. 2018, 4.1)."""
BILSTM_LAYERS = 2
"""Layers of the first BiLSTM (Wang et al. 2018, 4.1)."""


@final
class AttentionHead(nn.Module):
    """Computes one output for each sequence, whose segments 0 and 1 are the texts of a pair (Wang et al. 2018, 4.1).

    The states of each text after the first BiLSTM attend to those of the other text. A text's states and what they
    attend to go through the second BiLSTM, and the maximum over the text is its vector. The classifier reads
    [u; v; |u - v|; u * v]. A single text goes through the first BiLSTM only, and its maximum to the classifier.
    """

    def __init__(self, hidden: int, outputs: int, *, pairs: bool, seed: int, width: int) -> None:
        """Draw fresh weights. `width` is the size of a BiLSTM's output for a token, both directions together."""
        super().__init__()
        self.pairs = pairs
        widths = (hidden, *[width] * (BILSTM_LAYERS - 1))
        self.first = nn.ModuleList(BiLstm(inputs, width) for inputs in widths)
        self.second = BiLstm(2 * width, width) if pairs else None
        self.inner = nn.Linear(4 * width if pairs else width, CLASSIFIER_WIDTH)
        self.output = nn.Linear(CLASSIFIER_WIDTH, outputs)
        source = randomness.generator(seed, "head")
        bound = 1 / math.sqrt(width // 2)
        for weight in [*self.first.parameters(), *(self.second.parameters() if self.second is not None else ())]:
            nn.init.uniform_(weight, -bound, bound, generator=source)
        draw_linear(self.inner, source)
        draw_linear(self.output, source)

    def forward(self, hidden: torch.Tensor, batch: FlatBatch, *, rate: float) -> torch.Tensor:
        """Compute the outputs, in the order of the units, from states (T, hidden)."""
        texts = Texts.of(batch, pairs=self.pairs)
        with torch.autocast(hidden.device.type, enabled=False):  # not every device has an LSTM in half precision
            states = hidden.float()
            for number, layer in enumerate(self.first):
                states = layer(texts, batch.dropout(states, rate, f"first bilstm {number}"))
            if self.second is None:
                vectors = texts.maximum(states)
            else:
                both = torch.cat([states, texts.attended(states)], dim=1)
                states = self.second(texts, batch.dropout(both, rate, "second bilstm"))
                vectors = texts.maximum(states)
                first, second = vectors[::2], vectors[1::2]
                vectors = torch.cat([first, second, (first - second).abs(), first * second], dim=1)
            inside = torch.tanh(self.inner(batch.dropout(vectors, rate, "vectors")))
            outputs: torch.Tensor = self.output(batch.dropout(inside, rate, "classifier"))
        return outputs.index_select(0, batch.restore)


@final
class BiLstm(nn.Module):
    """Two LSTM layers that read each text alone, in opposite directions: (T, inputs) -> (T, width)."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(inputs, width // 2)
        self.backwards = nn.LSTM(inputs, width // 2)

    def forward(self, texts: Texts, states: torch.Tensor) -> torch.Tensor:
        forwards = read_one_way(self.forwards, states, texts.starts, texts.lengths)
        backwards = read_one_way(self.backwards, states, texts.starts, texts.lengths, backward=True)
        return torch.cat([forwards, backwards], dim=1)


@final
@dataclass(frozen=True)
class Texts:
    """The texts in a batch, one after another: both texts of the first sequence, both of the second, and so on."""

    starts: np.ndarray
    """int64 (S,): first token of each text"""
    lengths: np.ndarray
    """int64 (S,): tokens of each text"""

    @classmethod
    def of(cls, batch: FlatBatch, *, pairs: bool) -> Texts:
        """Find the texts of a batch; of pairs, the second text is the tokens of segment 1."""
        lengths = batch.lengths
        starts = lengths.cumsum() - lengths
        if not pairs:
            return cls(starts, lengths)
        seconds = np.add.reduceat(batch.segments[: batch.real].cpu().numpy(), starts)
        firsts = lengths - seconds
        return cls(np.stack([starts, starts + firsts], axis=1).ravel(), np.stack([firsts, seconds], axis=1).ravel())

    def attended(self, states: torch.Tensor) -> torch.Tensor:
        """Compute for each token the mean of the other text's states, weighted by the softmax of their products."""
        means, end = [], 0
        places = list(zip(self.starts.tolist(), self.lengths.tolist(), strict=True))
        for (start, length), (second_start, second_length) in zip(places[::2], places[1::2], strict=True):
            first, second = states[start : start + length], states[second_start : second_start + second_length]
            products = first @ second.T
            means += [products.softmax(1) @ second, products.T.softmax(1) @ first]
            end = second_start + second_length
        return torch.cat([*means, states.new_zeros(len(states) - end, states.shape[1])])

    def maximum(self, states: torch.Tensor) -> torch.Tensor:
        """Compute the maximum over the tokens of each text: (T, width) -> (S, width)."""
        parts = torch.split(states[: int(self.lengths.sum())], self.lengths.tolist())
        return torch.stack([part.amax(0) for part in parts])
