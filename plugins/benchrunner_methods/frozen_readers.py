"""The reader of the layers of a frozen encoder, computed once for all rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import nn

from benchrunner.engine import FlatBatch, steps
from benchrunner_methods import frozen_states
from benchrunner_methods.recurrent_heads import BiLstmHead

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.engine import Encoder, Job


class Reader:
    """The model for one table: two BiLSTM layers, which give outputs for batches of the table's sequences.

    The states of the frozen encoder are computed when the reader is made, or read from the cache.
    """

    learned: dict[str, nn.Module]
    """The modules that are trained, by name."""

    def __init__(self, encoder: Encoder, job: Job, table: pa.Table) -> None:
        self._device = torch.device(job.computing.device)
        self._dropout = encoder.dropout
        recipe = job.fit.recipe
        features = steps.encode(job, table, encoder, training=False)
        self._positions, self.sequences = job.problem.recurrent_sequences(features, table)
        encoder.to(self._device).eval()
        layers = frozen_states.chosen_layers(recipe.features, frozen_states.depth(encoder, features, self._device))
        self._states = frozen_states.vectors(frozen_states.TokenStates(), encoder, features, layers, job)
        concatenated = len(layers) if recipe.features.startswith("concat") else 1
        size = encoder.hidden_size * concatenated
        self._head = BiLstmHead(size, job.problem.head, seed=job.fit.seed, width=recipe.bilstm_width).to(self._device)
        self.learned = {"head": self._head}
        if recipe.features.startswith("weighted"):
            self.learned["mix"] = LayerMix(len(layers)).to(self._device)

    def __call__(self, batch: FlatBatch) -> torch.Tensor:
        places = self._positions[batch.feature_positions]
        layers = [torch.from_numpy(states[places]).to(self._device).float() for states in self._states]
        hidden = self.learned["mix"](layers) if "mix" in self.learned else torch.cat(layers, dim=1)
        return self._head.read(hidden, batch, rate=self._dropout)


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
