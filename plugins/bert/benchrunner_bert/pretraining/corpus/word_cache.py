"""Sentences to tokens, by looking up the words that were met before.

Running text is made of few different words. WordPiece never looks past a space, so the Rust tokenizer is asked for each
word once, many at a time on all cores, and the rest is looking up: the same tokens, several times as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from benchrunner.engine import ranges
from benchrunner_bert.tokenizer import BertTokenizer

MOST_WORDS = 1_000_000
MOST_CHARACTERS = 1 << 26
"""What may be remembered, some hundred megabytes; then the memory begins anew."""

_END, _BORDER = "\n", "\n\n"
"""Stand between the words of two sentences, and for an empty sentence; no word can be one."""


@final
@dataclass(frozen=True)
class Encoded:
    """Sentences one after another."""

    tokens: np.ndarray
    """int32 (tokens,)"""
    lengths: np.ndarray
    """int64 (sentences,): 0 where a sentence has no pieces"""


class WordCache:
    """A tokenizer made from a vocab.txt, with a memory. It is BERT's: its pieces depend on nothing outside a word."""

    def __init__(self, tokenizer: BertTokenizer) -> None:
        self._tokenizer = tokenizer
        self.fingerprint = tokenizer.fingerprint
        self._forget()

    def encode(self, sentences: list[str]) -> Encoded:
        """What the tokenizer gives for each sentence, without special tokens. None holds a line break."""
        words = f" {_END} ".join([*(sentence or _BORDER for sentence in sentences), ""]).split(" ")
        numbers = np.fromiter(map(self._numbers.__getitem__, words), np.int64, len(words))
        self._learn()
        counts = self._counts[numbers]
        tokens = self._pieces[ranges(self._starts[numbers], counts)]
        ends = np.cumsum(counts)[numbers == self._numbers[_END]]
        if len(self._numbers) > MOST_WORDS or self._characters > MOST_CHARACTERS:
            self._forget()
        return Encoded(tokens, np.diff(ends, prepend=0))

    def _forget(self) -> None:
        self._numbers = _Numbers()
        self._characters = 0
        self._pieces = np.empty(0, dtype=np.int32)
        self._starts = self._counts = np.empty(0, dtype=np.int64)
        for mark in ("", _END, _BORDER):
            self._numbers[mark]

    def _learn(self) -> None:
        """The pieces of the words that were met for the first time."""
        new, self._numbers.new = self._numbers.new, []
        # A text that says [MASK] means these characters, not the special token; the space changes nothing else.
        found = self._tokenizer.pieces([word.replace("[", "[ ") for word in new])
        self._starts = np.concatenate([self._starts, found.starts[:-1] + len(self._pieces)])
        self._counts = np.concatenate([self._counts, found.counts])
        self._pieces = np.concatenate([self._pieces, found.tokens])
        self._characters += sum(map(len, new))


class _Numbers(dict[str, int]):
    """Word -> number, in the order in which words are met."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.new.append(word)
        return number
