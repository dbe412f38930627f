"""ELMo (Peters et al. 2018) on flat batches, over word pieces instead of characters.

Two LSTM networks without shared weights read each sequence: one from left to right, one from right to left. In shape
comments, T is the number of tokens in a batch, N the number of sequences, and W the width of one direction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import nn

from benchrunner import CheckpointError
from benchrunner.engine import Encoder, ExportedHead, FlatBatch, Frame, Pieces, Sequences
from benchrunner_bert.checkpoint_writer import write_checkpoint
from benchrunner_bert.elmo.configuration import ElmoConfiguration
from benchrunner_bert.tokenizer import BertTokenizer
from benchrunner_checkpoints import read_one_way

LONGEST = 2**16
"""Tokens of the longest sequence. An LSTM has no limit of its own; texts are shorter than this."""
_EMBEDDING_BOUND = 0.1
"""Fresh embeddings are uniform between -0.1 and 0.1 (Merity et al. 2018): they are output weights as well."""
_FORGET_BIAS = 1.0
"""Initial bias of the forget gates, as in TensorFlow's LSTM cell, which the published model uses."""


class OneWayLstm(nn.Module):
    """Word embeddings and LSTM layers that read each sequence in one direction.

    From the second layer on, the input of a layer is added to its output (Peters et al. 2018, 3.4).
    """

    def __init__(self, config: ElmoConfiguration, *, backward: bool) -> None:
        super().__init__()
        self.backward = backward
        self.width = config.width
        self.name = "right_to_left" if backward else "left_to_right"
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        projection = config.width if config.cells > config.width else 0
        self.layers = nn.ModuleList(
            nn.LSTM(config.width, config.cells, proj_size=projection) for _ in range(config.layers)
        )

    def states(self, batch: FlatBatch, dropout: float) -> Iterator[torch.Tensor]:
        """Compute the embeddings, then the states after each layer: (T, W) each.

        This is not `forward`, because DeepSpeed's third ZeRO stage cannot follow an iterator out of a module.
        """
        hidden = self.embedding(batch.tokens)
        yield hidden
        lengths = batch.lengths
        starts = lengths.cumsum() - lengths
        for number, layer in enumerate(self.layers):
            inputs = batch.dropout(hidden, dropout, f"{self.name} {number}")
            assert isinstance(layer, nn.LSTM)
            states = read_one_way(layer, inputs, starts, lengths, backward=self.backward)
            hidden = inputs + states if number else states
            yield hidden

    def draw(self, source: torch.Generator) -> None:
        """Initialise all weights."""
        nn.init.uniform_(self.embedding.weight, -_EMBEDDING_BOUND, _EMBEDDING_BOUND, generator=source)
        for layer in self.layers:
            assert isinstance(layer, nn.LSTM)
            bound = 1 / math.sqrt(layer.hidden_size)
            for name, weight in layer.named_parameters():
                if weight.ndim > 1:
                    nn.init.uniform_(weight, -bound, bound, generator=source)
                else:
                    nn.init.zeros_(weight)
                if name.startswith("bias_ih"):  # gates: input, forget, cell, output
                    nn.init.constant_(weight[layer.hidden_size : 2 * layer.hidden_size], _FORGET_BIAS)


class Elmo(Encoder):
    """Two networks that read in opposite directions; a token's state is the states of both, one after the other."""

    def __init__(self, config: ElmoConfiguration, tokenizer: BertTokenizer) -> None:
        super().__init__()
        self.config = config
        self.tokenizer = tokenizer
        self.hidden_size = 2 * config.width
        self.max_length = LONGEST
        self.dropout = config.dropout
        self.tokenizer_fingerprint = tokenizer.fingerprint
        self.left_to_right = OneWayLstm(config, backward=False)
        self.right_to_left = OneWayLstm(config, backward=True)

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        return self.tokenizer.assemble(first, second, max_length)

    def pieces(self, texts: Sequence[str]) -> Pieces:
        return self.tokenizer.pieces(texts)

    @property
    def frame(self) -> Frame:
        return self.tokenizer.frame

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        """Compute the embeddings of both directions, then the states after each layer: (T, 2W) each."""
        directions = (network.states(batch, self.dropout) for network in (self.left_to_right, self.right_to_left))
        for states in zip(*directions, strict=True):
            yield torch.cat(states, dim=1)

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Take each direction's state of the token that it reads last: (T, 2W) -> (N, 2W)."""
        first = batch.starts[:-1].long()
        last = batch.starts[1:].long() - 1
        width = self.config.width
        return torch.cat([hidden[last, :width], hidden[first, width:]], dim=1)

    def draw(self, source: torch.Generator) -> None:
        """Initialise all weights."""
        self.left_to_right.draw(source)
        self.right_to_left.draw(source)

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        if head is not None:
            raise CheckpointError("No other library knows an ELMo over word pieces, so its head cannot be exported.")
        tensors = {name: weight.detach().contiguous() for name, weight in self.state_dict().items()}
        write_checkpoint(folder, tensors, self.config.as_json(), self.tokenizer)
