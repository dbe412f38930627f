"""Texts as the tokenizer's pieces with their places in the text, and the special tokens that make sequences of them.

What problems need that cut texts themselves: windows over a long paragraph, words with a tag each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchrunner.features.arrays import Sequences
from benchrunner.features.flat_batch import ranges


@dataclass(frozen=True)
class Pieces:
    """Texts one after another, without special tokens."""

    tokens: np.ndarray
    """int32 (pieces,)"""
    spans: np.ndarray
    """int32 (pieces, 2): the characters of its text that a piece stands for, from and to"""
    starts: np.ndarray
    """int64 (texts + 1,): text i is pieces starts[i] to starts[i + 1]"""

    @property
    def counts(self) -> np.ndarray:
        """Pieces of each text."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class Part:
    """One run of pieces for each sequence that is to be made."""

    tokens: np.ndarray
    """int32 (pieces,): all there are"""
    begins: np.ndarray
    """int64 (sequences,): where a sequence's run begins in them"""
    counts: np.ndarray
    """int64 (sequences,)"""


@dataclass(frozen=True)
class Joined:
    """Sequences made of parts."""

    sequences: Sequences
    first: np.ndarray
    """int64 (sequences,): where the first part begins, counted over all tokens"""
    second: np.ndarray
    """int64 (sequences,): where the second does; where it would, if there is none"""


@dataclass(frozen=True)
class Frame:
    """The special tokens around one text or two, and the segments of both."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    unknown: int
    """Stands for a word that has no pieces."""
    segments: tuple[int, int] = (0, 1)
    """Of everything up to the second text, and of the rest. A single text ends with `after` in the first segment."""

    def size(self, *, pair: bool) -> int:
        """Tokens of a sequence that are none of the texts'."""
        return len(self.before) + len(self.after) + pair * len(self.between)

    def join(self, first: Part, second: Part | None = None) -> Joined:
        """One sequence for each run of pieces, or for each pair of runs."""
        between = self.between if second is not None else ()
        counts = second.counts if second is not None else np.zeros_like(first.counts)
        lengths = first.counts + counts + self.size(pair=second is not None)
        starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        ours = starts[:-1] + len(self.before)
        theirs = ours + first.counts + len(between)
        tokens = np.empty(starts[-1], dtype=np.int32)
        segments = np.full(starts[-1], self.segments[0], dtype=np.int8)
        for special, places in (
            (self.before, starts[:-1]),
            (between, ours + first.counts),
            (self.after, theirs + counts),
        ):
            for at, token in enumerate(special):
                tokens[places + at] = token
        tokens[ranges(ours, first.counts)] = first.tokens[ranges(first.begins, first.counts)]
        if second is not None:
            tokens[ranges(theirs, counts)] = second.tokens[ranges(second.begins, counts)]
            segments[ranges(theirs, counts + len(self.after))] = self.segments[1]
        return Joined(Sequences(tokens, segments, starts), ours, theirs)
