"""The tokens of texts that are scored, and the sequences from which a model predicts each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from benchrunner import RequestError
from benchrunner.engine import Encoder, Features, Part, Pieces, Sequences, arrays, blocks

TARGET = "token"
"""Name of the target: the token that is predicted at a place."""
_WORD = re.compile(r"[^\W_]+|[\W_]")
"""A word: letters and digits, or any other character alone."""


@dataclass(frozen=True)
class ScoredTokens:
    """Texts as token sequences with special tokens, and the tokens that are scored, in their order."""

    sequences: Sequences
    places: np.ndarray
    """int64 (scored,): the place of each scored token among the tokens of all sequences"""
    word_ends: np.ndarray
    """int64 (scored,): the place after the last token of the word that the token belongs to"""
    text: np.ndarray
    """int64 (scored,): the text of each token"""

    @classmethod
    def of(cls, encoder: Encoder, texts: Sequence[str], begins: Sequence[int], longest: int) -> Self:
        """Tokenize texts; the tokens that end after the character `begins` of their text are scored.

        Raises a `RequestError` for a text that is longer than `longest` tokens, or that has no token to score.
        """
        pieces = encoder.pieces(texts)
        joined = encoder.frame.join(Part(pieces.tokens, pieces.starts[:-1], pieces.counts))
        text = np.repeat(np.arange(len(texts)), pieces.counts)
        is_scored = pieces.spans[:, 1] > np.asarray(begins, dtype=np.int64)[text]
        lengths = np.diff(joined.sequences.starts)
        without = np.bincount(text[is_scored], minlength=len(texts)) == 0
        for number in np.flatnonzero((lengths > longest) | without).tolist():
            fault = "no token to score: leave its row out."
            if not without[number]:
                most = f"{longest:,} is the most for this backbone and --max-length"
                fault = f"{lengths[number]:,} tokens, and {most}: a part of a text cannot be compared with a whole one."
            raise RequestError(f"The text {texts[number][:60]!r} has {fault}")
        places = blocks.ranges(joined.first, pieces.counts)
        shift = places - np.arange(len(places))  # of a piece's number to its place
        ends = _word_ends(texts, pieces, text) + shift
        return cls(joined.sequences, places[is_scored], ends[is_scored], text[is_scored])

    def masked(self, mask: int, *, within_word: bool) -> Features:
        """Make a copy of the text's sequence for each scored token, in which the token is masked.

        With `within_word`, the later tokens of the same word are masked as well.
        """
        starts = self.sequences.starts
        lengths = np.diff(starts)[self.text]
        borders = np.concatenate([[0], np.cumsum(lengths)])
        copied = blocks.ranges(starts[self.text], lengths)
        predicted = borders[:-1] + self.places - starts[self.text]
        tokens = self.sequences.tokens[copied]
        targets = np.full(len(tokens), arrays.IGNORED, dtype=np.int64)
        targets[predicted] = tokens[predicted]
        masked = self.word_ends - self.places if within_word else np.ones_like(self.places)
        tokens[blocks.ranges(predicted, masked)] = mask
        sequences = Sequences(tokens, self.sequences.segments[copied], borders)
        return Features.of(sequences, token_targets={TARGET: targets})

    def following(self) -> Features:
        """Keep the sequences; each token predicts the next one. The first token of a sequence cannot be predicted."""
        targets = np.full(len(self.sequences.tokens), arrays.IGNORED, dtype=np.int64)
        follows = self.places[self.follows]
        targets[follows - 1] = self.sequences.tokens[follows]
        return Features.of(self.sequences, token_targets={TARGET: targets})

    @property
    def follows(self) -> np.ndarray:
        """Whether there is a token before each scored token, bool (scored,)."""
        return np.asarray(self.places > self.sequences.starts[self.text])


def _word_ends(texts: Sequence[str], pieces: Pieces, text: np.ndarray) -> np.ndarray:
    """Return the number of the piece after the last one of each piece's word, int64 (pieces,)."""
    numbers = np.concatenate([np.empty(0, dtype=np.int64), *_word_numbers(texts, pieces)])
    count = len(numbers)
    is_new = np.ones(count + 1, dtype=bool)
    is_new[1:count] = (np.diff(numbers) != 0) | (np.diff(text) != 0)
    borders = np.flatnonzero(is_new)
    return np.repeat(borders[1:], np.diff(borders))


def _word_numbers(texts: Sequence[str], pieces: Pieces) -> Iterator[np.ndarray]:
    """Yield the number of the word in which each piece of a text begins, for each text."""
    for number, words in enumerate(texts):
        begins = [match.start() for match in _WORD.finditer(words)]
        first = pieces.spans[pieces.starts[number] : pieces.starts[number + 1], 0]
        yield np.searchsorted(begins, first, side="right")
