"""A whole encoder in about a hundred lines, to test with and to copy from; and the backbone that has it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

import numpy as np
import torch
from torch import nn

from benchrunner import Workspace
from benchrunner.engine import (
    Backbone,
    BackboneFamily,
    Encoder,
    ExportedHead,
    FlatBatch,
    Frame,
    OneBackbone,
    Pieces,
    Sequences,
)
from benchrunner_checkpoints import attend, attention_kernel

WEIGHTS = "tiny.safetensors"
"""Name of the file that `TinyEncoder.save` writes."""
HIDDEN = 12
HEADS = 2
VOCABULARY = 97
LONGEST = 64
BEGIN = 1
SEPARATOR = 2
UNKNOWN = 3
FIRST_WORD = 4
"""Words are hashed to token ids from this one up."""


class TinyEncoder(Encoder):
    """An encoder of a few thousand weights: hashed words and one attention layer. The summary is the mean of states."""

    attention_kernel = staticmethod(attention_kernel)

    def __init__(self, *, seed: int = 0, dropout: float = 0.1) -> None:
        super().__init__()
        self.hidden_size = HIDDEN
        self.max_length = LONGEST
        self.dropout = dropout
        self.tokenizer_fingerprint = f"words by crc32 in {VOCABULARY} buckets"
        self.word = nn.Embedding(VOCABULARY, HIDDEN)
        self.position = nn.Embedding(LONGEST, HIDDEN)
        self.qkv = nn.Linear(HIDDEN, 3 * HIDDEN)
        self.norm = nn.LayerNorm(HIDDEN)
        self.dense = nn.Linear(HIDDEN, HIDDEN)
        _draw(self, torch.Generator().manual_seed(seed))

    @property
    def word_embeddings(self) -> Sequence[nn.Embedding]:
        return (self.word,)

    @property
    def layers(self) -> Sequence[nn.Module]:
        return (nn.ModuleList([self.qkv, self.norm]),)

    def draw_layer(self, index: int, source: torch.Generator) -> None:
        _draw(self.layers[index], source)

    def draw_summary(self, source: torch.Generator) -> None:
        _draw(self.dense, source)

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        """Make sequences of BEGIN, the words and SEPARATOR after each text; long sequences are cut at their end."""
        tokens = list[int]()
        segments = list[int]()
        starts = [0]
        for row, text in enumerate(first):
            sequence = [BEGIN, *_tokens(text), SEPARATOR]
            segment = [0] * len(sequence)
            if second is not None:
                sequence += [*_tokens(second[row]), SEPARATOR]
                segment += [1] * (len(sequence) - len(segment))
            tokens += sequence[:max_length]
            segments += segment[:max_length]
            starts.append(len(tokens))
        return Sequences(np.array(tokens, np.int32), np.array(segments, np.int8), np.array(starts, np.int64))

    def pieces(self, texts: Sequence[str]) -> Pieces:
        """Give the words between blanks, each a piece."""
        words: list[re.Match[str]] = []
        starts = [0]
        for text in texts:
            words += re.finditer(r"\S+", text)
            starts.append(len(words))
        tokens = np.array([_token(match[0]) for match in words], dtype=np.int32)
        spans = np.array([match.span() for match in words], dtype=np.int32).reshape(-1, 2)
        return Pieces(tokens, spans, np.array(starts, dtype=np.int64))

    @property
    def frame(self) -> Frame:
        return Frame(before=(BEGIN,), between=(SEPARATOR,), after=(SEPARATOR,), unknown=UNKNOWN)

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        embedded = self.word(batch.tokens) + self.position(batch.positions)  # (T, hidden)
        hidden = batch.dropout(embedded, self.dropout, "words")
        yield hidden
        qkv = self.qkv(hidden).unflatten(-1, (3, HEADS, HIDDEN // HEADS))
        yield self.norm(hidden + attend(qkv, batch, rate=self.dropout, site="attention"))

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Compute the mean over the tokens of each sequence and a dense layer: (T, hidden) -> (N, hidden)."""
        sums = hidden.new_zeros(len(batch.starts) - 1, HIDDEN).index_add(0, batch.owner, hidden[: batch.real])
        return torch.tanh(self.dense(sums / batch.starts.diff()[:, None]))

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        from safetensors.torch import save_file

        tensors = {name: weight.contiguous() for name, weight in self.state_dict().items()}
        if head is not None:
            tensors |= {f"head.{name}": weight for name, weight in head.tensors.items()}
        save_file(tensors, folder / WEIGHTS)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Load the encoder that `save` wrote."""
        from safetensors.torch import load_file

        encoder = cls()
        tensors = load_file(folder / WEIGHTS)
        encoder.load_state_dict({name: weight for name, weight in tensors.items() if not name.startswith("head.")})
        return encoder


def _draw(module: nn.Module, source: torch.Generator) -> None:
    for weight in module.parameters():
        nn.init.normal_(weight, std=0.3, generator=source)


def _tokens(text: str) -> list[int]:
    return [_token(word) for word in text.split()]


def _token(word: str) -> int:
    return FIRST_WORD + zlib.crc32(word.encode()) % (VOCABULARY - FIRST_WORD)


@final
@dataclass(frozen=True)
class TinyBackbone(Backbone):
    """A backbone whose encoder is a `TinyEncoder`: with the same weights on every load, or those in a folder."""

    name: str = "tiny/words"
    about: str = "hashed words and one attention layer"
    folder: Path | None = None
    for_demo: bool = True

    def revision(self, workspace: Workspace) -> str:
        return f"tiny {zlib.crc32((self.folder / WEIGHTS).read_bytes())}" if self.folder else "tiny 1"

    def layer_count(self, workspace: Workspace) -> int:
        return 1

    def weight_count(self, workspace: Workspace) -> int:
        return 1_000

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return TinyEncoder.read(self.folder) if self.folder else TinyEncoder()


def tiny_family(name: str = "tiny/words") -> BackboneFamily:
    """Give a family with the tiny backbone, for `register_backbones` in a test."""

    def saved(folder: Path) -> Backbone | None:
        return TinyBackbone(str(folder), folder=folder) if (folder / WEIGHTS).is_file() else None

    return OneBackbone(TinyBackbone(name), saved)
