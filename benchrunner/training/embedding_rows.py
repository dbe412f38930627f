"""The words in use: a training set meets few rows of the embedding table, so only those are trained.

The result is the same.

A row that no training example uses has a gradient of zero. Adam moves it nowhere; only weight decay shrinks it, by a
factor that the schedule fixes in advance. So training carries a small table of the rows in use, without a dense
gradient over the whole vocabulary and without its two moments, and the other rows are multiplied once at the end.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import nn

from benchrunner.features.arrays import Features


class WordsInUse:
    """Swaps an embedding's table for the rows that some features use, and back."""

    def __init__(self, embedding: nn.Embedding, features: Features) -> None:
        self._embedding = embedding
        self._full = embedding.weight.detach()
        self._used = np.unique(features.tokens)
        narrow = np.zeros(len(self._full), dtype=np.int32)
        narrow[self._used] = np.arange(len(self._used), dtype=np.int32)
        self.features = replace(features, tokens=narrow[features.tokens])
        """The same features, their tokens numbered by row of the small table."""
        rows = torch.from_numpy(self._used).to(self._full.device)
        embedding.weight = nn.Parameter(self._full[rows])

    def restore(self, unused: float) -> None:
        """Put the whole table back: trained rows as they are, the others times `unused`."""
        rows = torch.from_numpy(self._used).to(self._full.device)
        whole = self._full * unused
        whole[rows] = self._embedding.weight.detach().to(whole.device)
        self._embedding.weight = nn.Parameter(whole)
