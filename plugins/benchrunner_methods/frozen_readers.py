"""Readers: models that read the layers of a frozen encoder, computed once for all rows of a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, final

import numpy as np
import torch
from torch import nn

from benchrunner.engine import Features, FlatBatch, blocks, steps
from benchrunner_methods import frozen_states
from benchrunner_methods.recurrent_heads import AttentionHead, BiLstmHead
from benchrunner_methods.text_vectors import texts_apart

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.engine import Encoder, Job


class Reader(ABC):
    """The model for one table: gives the head's outputs for batches of the table's sequences.

    The states of the frozen encoder are computed when the reader is made, or read from the cache.
    """

    learned: dict[str, nn.Module]
    """The modules that are trained, by name."""

    def __init__(self, encoder: Encoder, job: Job, table: pa.Table) -> None:
        self._device = torch.device(job.computing.device)
        self._dropout = encoder.dropout
        choice = job.fit.recipe.features
        sources, self._positions, self.sequences = self._read(encoder, job, table)
        encoder.to(self._device).eval()
        depth = frozen_states.depth(encoder, sources[0], self._device)
        layers = frozen_states.chosen_layers(choice, depth)
        self._states = [frozen_states.states(encoder, source, layers, job) for source in sources]
        self._ends = np.cumsum([len(source.tokens) for source in sources])
        concatenated = len(layers) if choice.startswith("concat") else 1
        head = self._head(encoder.hidden_size * concatenated, job)
        self.learned = {"head": head.to(self._device)}
        if choice.startswith("weighted"):
            self.learned["mix"] = LayerMix(len(layers)).to(self._device)

    @abstractmethod
    def _read(self, encoder: Encoder, job: Job, table: pa.Table) -> tuple[Sequence[Features], np.ndarray, Features]:
        """Encode the rows.

        Return the sources that the encoder reads, the sequences that the head reads, and between them the place of each
        of the head's tokens, counted over the tokens of all sources.
        """

    @abstractmethod
    def _head(self, hidden: int, job: Job) -> nn.Module:
        """Make the head for states of a size."""

    @abstractmethod
    def outputs(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Compute the head's outputs from states (T, hidden)."""

    def __call__(self, batch: FlatBatch) -> torch.Tensor:
        places = self._positions[batch.feature_positions]
        sources = self._ends.searchsorted(places, side="right")
        firsts = np.concatenate([[0], self._ends[:-1]])[sources]
        layers = list[torch.Tensor]()
        for layer in zip(*self._states, strict=True):
            states = _gathered(layer, sources, places - firsts)
            layers.append(torch.from_numpy(states).to(self._device).float())
        hidden = self.learned["mix"](layers) if "mix" in self.learned else torch.cat(layers, dim=1)
        return self.outputs(hidden, batch)


def _gathered(layer: Sequence[np.ndarray], sources: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Read the states of one layer at places of several sources: (T, hidden)."""
    states = np.empty((len(places), layer[0].shape[1]), dtype=layer[0].dtype)
    for number, source in enumerate(layer):
        chosen = sources == number
        states[chosen] = source[places[chosen]]
    return states


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


@final
class BiLstmReader(Reader):
    """Two BiLSTM layers over the sequences of the problem."""

    def _read(self, encoder: Encoder, job: Job, table: pa.Table) -> tuple[Sequence[Features], np.ndarray, Features]:
        features = steps.encode(job, table, encoder, training=False)
        positions, sequences = job.problem.recurrent_sequences(features, table)
        return (features,), positions, sequences

    def _head(self, hidden: int, job: Job) -> nn.Module:
        return BiLstmHead(hidden, job.problem.head, seed=job.fit.seed, width=job.fit.recipe.bilstm_width)

    def outputs(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        head = self.learned["head"]
        assert isinstance(head, BiLstmHead)
        return head.read(hidden, batch, rate=self._dropout)


@final
class AttentionReader(Reader):
    """A BiLSTM over each text alone, attention between the texts of a pair, and a second BiLSTM."""

    def _read(self, encoder: Encoder, job: Job, table: pa.Table) -> tuple[Sequence[Features], np.ndarray, Features]:
        """Encode each text as a sequence of its own; a sequence of the head is all texts of a row, in two segments."""
        sources = [steps.encode(job, part, encoder, training=False) for part in texts_apart(table)]
        positions, sequences = joined(sources)
        return sources, positions, sequences

    def _head(self, hidden: int, job: Job) -> nn.Module:
        return AttentionHead(
            hidden,
            job.problem.head.width,
            pairs=len(self._states) == 2,
            seed=job.fit.seed,
            width=job.fit.recipe.bilstm_width,
        )

    def outputs(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        head = self.learned["head"]
        assert isinstance(head, AttentionHead)
        outputs: torch.Tensor = head(hidden, batch, rate=self._dropout)
        return outputs


READERS: Mapping[str, type[Reader]] = {"bilstm": BiLstmReader, "attention": AttentionReader}


def joined(sources: Sequence[Features]) -> tuple[np.ndarray, Features]:
    """Join the sequences of each row: one sequence of a row's texts, each text in a segment of its own.

    The first value is the place of each token, counted over the tokens of all sources.
    """
    lengths = np.stack([source.lengths for source in sources], axis=1).astype(np.int64)  # (rows, texts)
    starts = []
    offset = 0
    for source in sources:
        starts.append(source.starts[:-1] + offset)
        offset += len(source.tokens)
    begins = np.stack(starts, axis=1)
    positions = blocks.ranges(begins.ravel(), lengths.ravel())
    tokens = np.concatenate([source.tokens for source in sources])[positions]
    segment_of_text = np.tile(np.arange(len(sources), dtype=np.int8), len(lengths))
    segments = np.repeat(segment_of_text, lengths.ravel())
    first = sources[0]
    sequences = Features(
        tokens=tokens,
        segments=segments,
        starts=np.concatenate([[0], np.cumsum(lengths.sum(axis=1))]),
        groups=first.groups,
        owner=first.owner,
        targets=first.targets,
    )
    return positions, sequences
