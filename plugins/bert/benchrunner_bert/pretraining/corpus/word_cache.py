"""Encode sentences quickly: each word is given to the tokenizer once, and looked up afterwards.

Text repeats few different words, and WordPiece never looks past a blank. The Rust tokenizer therefore encodes only new
words, many at a time on all cores. The tokens are the same as without the cache, and several times as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from benchrunner.engine import ranges
from benchrunner_bert.tokenizer import BertTokenizer

MOST_WORDS = 1_000_000
"""Most words of the cache, some hundred megabytes. A cache that has more is emptied."""
MOST_CHARACTERS = 1 << 26
"""Most characters of all words of the cache together."""

_END, _EMPTY = "\n", "\n\n"
"""Stand for the end of a sentence and for an empty sentence among the words; no word of a text is equal to them."""


@final
@dataclass(frozen=True)
class EncodedSentences:
    """The tokens of sentences, one sentence after another."""

    tokens: np.ndarray
    """int32 (tokens,)"""
    lengths: np.ndarray
    """int64 (sentences,): number of tokens, 0 for a sentence without any"""


class WordCache:
    """A tokenizer with a memory of words. Its pieces must depend on nothing outside of a word, as BERT's do."""

    def __init__(self, tokenizer: BertTokenizer) -> None:
        self._tokenizer = tokenizer
        self.fingerprint = tokenizer.fingerprint
        self._clear()

    def encode(self, sentences: list[str]) -> EncodedSentences:
        """Encode sentences without special tokens, as the tokenizer does. No sentence may hold a line break."""
        words = f" {_END} ".join([*(sentence or _EMPTY for sentence in sentences), ""]).split(" ")
        numbers = np.fromiter(map(self._numbers.__getitem__, words), np.int64, len(words))
        self._encode_new_words()
        counts = self._counts[numbers]
        tokens = self._pieces[ranges(self._starts[numbers], counts)]
        ends = np.cumsum(counts)[numbers == self._numbers[_END]]
        if len(self._numbers) > MOST_WORDS or self._characters > MOST_CHARACTERS:
            self._clear()
        return EncodedSentences(tokens, np.diff(ends, prepend=0))

    def _clear(self) -> None:
        self._numbers = _WordNumbers()
        self._characters = 0
        self._pieces = np.empty(0, dtype=np.int32)
        self._starts = self._counts = np.empty(0, dtype=np.int64)
        for mark in ("", _END, _EMPTY):
            self._numbers[mark]

    def _encode_new_words(self) -> None:
        new, self._numbers.new = self._numbers.new, []
        # A text that spells [MASK] means these characters, not the special token. The blank changes nothing else.
        encoded = self._tokenizer.pieces([word.replace("[", "[ ") for word in new])
        self._starts = np.concatenate([self._starts, encoded.starts[:-1] + len(self._pieces)])
        self._counts = np.concatenate([self._counts, encoded.counts])
        self._pieces = np.concatenate([self._pieces, encoded.tokens])
        self._characters += sum(map(len, new))


class _WordNumbers(dict[str, int]):
    """Words -> numbers in the order of first use. A word that is looked up for the first time is added."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []
        """Words added since the list was last emptied."""

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.new.append(word)
        return number
