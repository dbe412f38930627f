"""An encoder of a few hundred weights and no dependency: one attention layer over hashed words."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from benchrunner.backbones.attention import attend
from benchrunner.backbones.encoder import Encoder, ExportedHead
from benchrunner.features.arrays import Features, Sequences
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.pieces import Frame, Pieces
from benchrunner.problems.classify import Classify
from benchrunner.recipes import Recipe

MOOD = Classify(("glad", "sad"))


class TinyEncoder(Encoder):
    """Words, 1 for the beginning; a summary is the first token's state through a dense layer."""

    def __init__(self, *, seed: int = 0, vocabulary: int = 97, dropout: float = 0.0, fingerprint: str = "tiny") -> None:
        super().__init__()
        self.hidden_size, self.max_length, self.dropout, self.vocabulary = 12, 64, dropout, vocabulary
        self.tokenizer_fingerprint = fingerprint
        self.assembled = 0
        self.word = nn.Embedding(vocabulary, 12)
        self.position = nn.Embedding(64, 12)
        self.qkv = nn.Linear(12, 36)
        self.norm = nn.LayerNorm(12)
        self.dense = nn.Linear(12, 12)
        source = torch.Generator().manual_seed(seed)
        for one in self.parameters():
            nn.init.normal_(one, std=0.3, generator=source)

    @property
    def word_embedding(self) -> nn.Embedding:
        return self.word

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        self.assembled += 1
        texts = first if second is None else [f"{a} {b}" for a, b in zip(first, second, strict=True)]
        rows = [
            [1, *(2 + zlib.crc32(word.encode()) % (self.vocabulary - 2) for word in text.split())] for text in texts
        ]
        rows = [row[:max_length] for row in rows]
        flat = np.array([token for row in rows for token in row], dtype=np.int32)
        starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        return Sequences(flat, np.zeros(len(flat), dtype=np.int8), starts)

    def pieces(self, texts: Sequence[str]) -> Pieces:
        """Words between blanks."""
        words = [[one.span() for one in re.finditer(r"\S+", text)] for text in texts]
        tokens = [self._number(text[a:b]) for text, some in zip(texts, words, strict=True) for a, b in some]
        spans = np.array([span for some in words for span in some], dtype=np.int32).reshape(-1, 2)
        return Pieces(np.array(tokens, dtype=np.int32), spans, np.cumsum([0, *map(len, words)], dtype=np.int64))

    @property
    def frame(self) -> Frame:
        return Frame(before=(1,), between=(2,), after=(2,), unknown=3)

    def _number(self, word: str) -> int:
        return 4 + zlib.crc32(word.encode()) % (self.vocabulary - 4)

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        hidden = batch.dropout(self.word(batch.tokens) + self.position(batch.positions), self.dropout, "words")
        yield hidden
        qkv = self.qkv(hidden).unflatten(-1, (3, 2, 6))
        yield self.norm(hidden + attend(qkv, batch, rate=self.dropout, site="attention"))

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return torch.tanh(self.dense(hidden[batch.starts[:-1].long()]))

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        raise NotImplementedError


def sentences(count: int, *, seed: int = 0, shortest: int = 2, longest: int = 14) -> pa.Table:
    """Made-up sentences that are glad or sad by one word; they use a part of the vocabulary."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 2, count)
    words = [[f"w{number}" for number in draw.integers(0, 40, draw.integers(shortest, longest + 1))] for _ in labels]
    texts = [" ".join([*some[:-1], ("fine", "grim")[label]]) for some, label in zip(words, labels, strict=True)]
    return pa.table({"a": texts, "label": [MOOD.labels[label] for label in labels]})


def features(count: int, *, seed: int = 0, shortest: int = 2, longest: int = 14) -> Features:
    """Those sentences encoded."""
    table = sentences(count, seed=seed, shortest=shortest, longest=longest)
    return MOOD.encode(table, TinyEncoder(), Recipe(), training=True)
