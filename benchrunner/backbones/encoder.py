"""A loaded backbone: its tokenizer, its encoder and its summary of a sequence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.errors import PluginError
from benchrunner.features.arrays import Sequences
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.pieces import Frame, Pieces


@dataclass(frozen=True)
class ExportedHead:
    """A fitted head, for backbones whose layout on disk has a place for one."""

    tensors: Mapping[str, torch.Tensor]
    """`weight` and `bias` of the output layer."""
    kind: ExportKind
    """How other libraries know the head: see `Problem.export_kind`."""
    reads_summary: bool
    """Whether the head reads the encoder's summary of each sequence; False for heads that read token states."""


class Encoder(nn.Module, ABC):
    """Flat batches in, hidden states out."""

    hidden_size: int
    max_length: int
    """The longest sequence it can take."""
    dropout: float
    """The rate its configuration asks for; methods may set another before training."""
    tokenizer_fingerprint: str
    """A hash of everything that decides how text becomes tokens."""
    notes: tuple[str, ...] = ()
    """What loading left out or made up, one sentence each."""

    @property
    def word_embedding(self) -> nn.Embedding | None:
        """The table that looks up `batch.tokens`, so that training holds only its rows in use; None trains it whole.

        The encoder must call this module with `batch.tokens` and read its weight nowhere else: not through
        `functional.embedding`, not for an output layer. Whatever else it derives from the ids is safe. Where its states
        are not the same with the smaller table, fits train the whole one, and `check_backbone` fails.
        """
        return None

    @abstractmethod
    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        """Texts or pairs of texts to token sequences with special tokens and segments; longer texts are cut first."""

    def pieces(self, texts: Sequence[str]) -> Pieces:
        """Texts as pieces with their characters, without special tokens and whole, however long."""
        raise PluginError(f"{type(self).__name__} gives no pieces, so it can answer no questions about parts of texts.")

    def words(self, words: Sequence[str]) -> Pieces:
        """The same for single words as they stand inside a sentence."""
        return self.pieces(words)

    @property
    def frame(self) -> Frame:
        """The special tokens that make a sequence of pieces."""
        raise PluginError(f"{type(self).__name__} gives no frame, so it can answer no questions about parts of texts.")

    @abstractmethod
    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        """The embeddings, then the states after each layer: (T, hidden) each."""

    @abstractmethod
    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """One vector a sequence: (T, hidden) -> (N, hidden)."""

    @abstractmethod
    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        """Write the checkpoint in the layout that the backbone's family reads."""

    def forward(self, batch: FlatBatch) -> torch.Tensor:
        """The last layer's states: (T, hidden)."""
        state = None
        for state in self.hidden_states(batch):  # noqa: B007 - only the last is wanted
            pass
        assert state is not None
        return state

    def set_dropout(self, rate: float) -> None:
        """Use this rate at every site."""
        self.dropout = rate
