"""Pieces: the tokens of texts with their places in the text, and the special tokens that make sequences of them.

Problems use pieces to cut texts themselves: into windows over a long paragraph, or into words that have a tag each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchrunner.features.arrays import Sequences
from benchrunner.features.flat_batch import ranges


@dataclass(frozen=True)
class Pieces:
    """The tokens of several texts, joined in one array, without special tokens."""

    tokens: np.ndarray
    """int32 (pieces,): token ids"""
    spans: np.ndarray
    """int32 (pieces, 2): first character and end of each piece in its text"""
    starts: np.ndarray
    """int64 (texts + 1,): text i is pieces starts[i] to starts[i + 1]"""

    @property
    def counts(self) -> np.ndarray:
        """Number of pieces of each text, int64 (texts,)."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class Part:
    """A range of pieces for each sequence that `Frame.join` makes."""

    tokens: np.ndarray
    """int32 (pieces,): token ids of all pieces"""
    begins: np.ndarray
    """int64 (sequences,): first piece of each sequence's range"""
    counts: np.ndarray
    """int64 (sequences,): number of pieces in each range"""


@dataclass(frozen=True)
class Joined:
    """Sequences made of parts, and where the parts are in them."""

    sequences: Sequences
    first: np.ndarray
    """int64 (sequences,): token at which the first part begins, counted over all sequences"""
    second: np.ndarray
    """int64 (sequences,): token at which the second part begins, or would begin if there were one"""


@dataclass(frozen=True)
class Frame:
    """The special tokens around one text or a pair of texts, and the segments of the texts."""

    before: tuple[int, ...]
    """Token ids before the first text."""
    between: tuple[int, ...]
    """Token ids between two texts."""
    after: tuple[int, ...]
    """Token ids after the last text."""
    unknown: int
    """Token id for a word without pieces."""
    segments: tuple[int, int] = (0, 1)
    """Segments of the tokens before the second text, and of the others; a single text is in the first segment only."""

    def size(self, *, pair: bool) -> int:
        """Return the number of special tokens in a sequence."""
        return len(self.before) + len(self.after) + pair * len(self.between)

    def join(self, first: Part, second: Part | None = None) -> Joined:
        """Make one sequence of each range of pieces, or of each pair of ranges."""
        between = self.between if second is not None else ()
        counts = second.counts if second is not None else np.zeros_like(first.counts)
        lengths = first.counts + counts + self.size(pair=second is not None)
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        first_begins = starts[:-1] + len(self.before)
        second_begins = first_begins + first.counts + len(between)
        tokens = np.empty(starts[-1], dtype=np.int32)
        segments = np.full(starts[-1], self.segments[0], dtype=np.int8)
        for special, places in (
            (self.before, starts[:-1]),
            (between, first_begins + first.counts),
            (self.after, second_begins + counts),
        ):
            for offset, token in enumerate(special):
                tokens[places + offset] = token
        tokens[ranges(first_begins, first.counts)] = first.tokens[ranges(first.begins, first.counts)]
        if second is not None:
            tokens[ranges(second_begins, counts)] = second.tokens[ranges(second.begins, counts)]
            segments[ranges(second_begins, counts + len(self.after))] = self.segments[1]
        return Joined(Sequences(tokens, segments, starts), first_begins, second_begins)
