"""Tokenized texts: their tokens (pieces) with places in the text, and the special tokens that make sequences of them.

Problems use pieces to cut texts themselves: into windows over a long paragraph, or into words that have a tag each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchrunner.errors import RequestError
from benchrunner.features.arrays import Sequences, borders
from benchrunner.features.blocks import ranges


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

    def counts_beside(self, second: Pieces, room: int) -> tuple[np.ndarray, np.ndarray]:
        """Return how many pieces of these texts and of the second texts fit in the room, if the longer is cut first.

        Where both texts of a pair must be cut, each keeps half of the room. If the room is odd, the longer text keeps
        one piece more; of two texts of equal length, the second.
        """
        shorter = np.minimum(self.counts, second.counts)
        longer = np.maximum(self.counts, second.counts)
        of_shorter = np.minimum(shorter, room // 2)
        of_longer = np.minimum(longer, room - of_shorter)
        is_longer = self.counts > second.counts
        of_first = np.where(is_longer, of_longer, of_shorter)
        of_second = np.where(is_longer, of_shorter, of_longer)
        return of_first, of_second

    def cut(self, counts: np.ndarray, *, from_end: bool) -> Part:
        """Keep `counts` pieces of each text: its first, or its last."""
        return Part(self.tokens, self.starts[1:] - counts if from_end else self.starts[:-1], counts)


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


Three = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Numbers for the special tokens before the first text, between two texts, and after the last text."""


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
    """Token id for a word without pieces, and for a sequence without any token."""
    segments: tuple[int, int] = (0, 1)
    """Segments of the first and of the second text."""
    special_segments: Three | None = None
    """Segments of the tokens of `before`, `between` and `after`; None: all are in the segment of the first text, except
    that `after` is in the segment of the second text if there is a second text."""
    single: Frame | None = None
    """Frame of single texts, if it has other special tokens or segments than the frame of pairs without `between`."""

    def size(self, *, pair: bool) -> int:
        """Return the number of special tokens in a sequence."""
        if not pair and self.single is not None:
            return self.single.size(pair=False)
        special = len(self.before) + len(self.after)
        return special + len(self.between) if pair else special

    def fitted(self, first: Pieces, second: Pieces | None, max_length: int, *, from_end: bool = False) -> Sequences:
        """Make a sequence of at most `max_length` tokens of each text, or of each pair, whose longer text is cut first.

        Texts that are cut keep their first pieces, or their last pieces with `from_end`.
        """
        special = self.size(pair=second is not None)
        room = max_length - special
        shortest = 1 if second is None else 2
        if room < shortest:
            raise RequestError(
                f"A sequence needs at least {special + shortest} tokens here; max_length is {max_length}."
            )
        if second is None:
            return self.join(first.cut(np.minimum(first.counts, room), from_end=from_end)).sequences
        of_first, of_second = first.counts_beside(second, room)
        return self.join(first.cut(of_first, from_end=from_end), second.cut(of_second, from_end=from_end)).sequences

    def join(self, first: Part, second: Part | None = None) -> Joined:
        """Make one sequence of each range of pieces, or of each pair of ranges."""
        if second is None and self.single is not None:
            return self.single.join(first)
        pair = second is not None
        between = self.between if pair else ()
        if second is None:
            nothing = np.zeros_like(first.counts)
            second = Part(first.tokens, nothing, nothing)
        lengths = first.counts + second.counts + self.size(pair=pair)
        starts = borders(np.maximum(lengths, 1))
        first_begins = starts[:-1] + len(self.before)
        first_ends = first_begins + first.counts
        second_begins = first_ends + len(between)
        tokens = np.full(starts[-1], self.unknown, dtype=np.int32)  # stays where a sequence has no token
        segments = np.full(starts[-1], self.segments[0], dtype=np.int8)
        of_first = ranges(first_begins, first.counts)
        of_second = ranges(second_begins, second.counts)
        tokens[of_first] = first.tokens[ranges(first.begins, first.counts)]
        tokens[of_second] = second.tokens[ranges(second.begins, second.counts)]
        segments[of_second] = self.segments[1]
        special = (self.before, between, self.after)
        begins = (starts[:-1], first_ends, second_begins + second.counts)
        kinds = self._special_segments(pair=pair)
        for special_tokens, places, special_segments in zip(special, begins, kinds, strict=True):
            for offset, token in enumerate(special_tokens):
                tokens[places + offset] = token
                segments[places + offset] = special_segments[offset]
        return Joined(Sequences(tokens, segments, starts), first_begins, second_begins)

    def _special_segments(self, *, pair: bool) -> Three:
        """Return the segments of the tokens of `before`, `between` and `after`."""
        if self.special_segments is not None:
            return self.special_segments
        before = self.segments[:1] * len(self.before)
        between = self.segments[:1] * len(self.between)
        after = (self.segments[pair],) * len(self.after)
        return before, between, after
