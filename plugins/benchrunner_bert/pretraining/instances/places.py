"""Places where instances begin: spread evenly over the corpus, each used once per epoch in a shuffled order.

A document as long as n sequences has about n places: its beginning, its last stretch, and others spread evenly between,
which move a little from epoch to epoch.
"""

from __future__ import annotations

from typing import final

import numpy as np

from benchrunner import DataError
from benchrunner_bert.pretraining.corpus.token_store import TokenStore

_ROUNDS = 4
_WORD = (1 << 64) - 1
"""Mask of 64 bits."""


@final
class Places:
    """The places of a token store at one length, numbered document by document."""

    def __init__(self, store: TokenStore, length: int, *, pairs: bool) -> None:
        """Count the places of each document; with `pairs`, a document of a single sentence gets none."""
        self._store = store
        self._length = length
        sentences = np.diff(store.document_starts)
        tokens = np.diff(store.sentence_starts[store.document_starts])
        counts = -(-tokens // length)
        if pairs:
            counts[sentences < 2] = 0
            _check_pairs(store, counts)
        self._firsts = np.concatenate([[0], np.cumsum(counts)])
        self._documents = np.flatnonzero(counts)

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def at(self, index: int, key: int) -> int:
        """Give the place of an instance. The instances of an epoch, `len(self)` of them, have one place each."""
        epoch, rest = divmod(index, len(self))
        return shuffled(rest, len(self), key + epoch)

    def document(self, place: int) -> int:
        """Give the document that a place is in."""
        return int(self._firsts.searchsorted(place, "right")) - 1

    def elsewhere(self, document: int, share: float, *, by_length: bool = True) -> int:
        """Choose another document that has places, in proportion to the number of its places or uniformly.

        `share` is a random number from 0 to below 1.
        """
        if not by_length:
            index = int(share * (len(self._documents) - 1))
            return int(self._documents[index + (index >= self._documents.searchsorted(document))])
        first, stop = self._places_of(document)
        own = stop - first
        place = int(share * (len(self) - own))
        return self.document(place if place < first else place + own)

    def sentence(self, place: int, document: int, target: int, shift: float) -> int:
        """Give the sentence of a place, for an instance of `target` tokens; `shift` is random from 0 to below 1."""
        sentence, token = self._aim(place, document, target, shift)
        # At the end of a document, take the first sentence from which the rest fits.
        late = token > self._store.sentence_starts[sentence] and self._is_last(place, document)
        return min(sentence + late, int(self._store.document_starts[document + 1]) - 1)

    def token(self, place: int, document: int, target: int, shift: float) -> int:
        """Give the first token of the place's sentence.

        In a sentence that is too long for any instance, give a token inside the sentence: its end would otherwise
        never be read.
        """
        sentence, token = self._aim(place, document, target, shift)
        starts = self._store.sentence_starts
        if starts[sentence + 1] - starts[sentence] > self._length:
            return token
        return int(starts[self.sentence(place, document, target, shift)])

    def _aim(self, place: int, document: int, target: int, shift: float) -> tuple[int, int]:
        """Give the token of a place, and the sentence that holds the token: (sentence, token)."""
        first, stop = self._places_of(document)
        begin, end = self._store.document_starts[document : document + 2].tolist()
        starts = self._store.sentence_starts[begin : end + 1]
        first_token = int(starts[0])
        last_token = int(starts[-1])
        if place == first:
            return begin, first_token
        if place == stop - 1:
            token = last_token - target
        else:
            token = first_token + int((place - first + shift - 0.5) * (last_token - first_token) / (stop - first))
        return begin + int(starts.searchsorted(token, "right")) - 1, token

    def _places_of(self, document: int) -> tuple[int, int]:
        """Give the first place of a document, and the first place after it."""
        return int(self._firsts[document]), int(self._firsts[document + 1])

    def _is_last(self, place: int, document: int) -> bool:
        return place == self._places_of(document)[1] - 1


def _check_pairs(store: TokenStore, counts: np.ndarray) -> None:
    """Raise a `DataError` unless two documents have sentences that follow others."""
    if (counts > 0).sum() > 1:
        return
    documents = "a single document" if store.documents == 1 else f"{store.documents:,} documents"
    raise DataError(
        f"{store.folder}: pairs of spans need two documents of two sentences or more, but the corpus holds "
        f"{documents} and {store.sentences:,} sentences. Separate documents by blank lines or bring more text, and "
        f"remove {store.folder}, which holds the tokens of this text. Or choose --input document with another "
        "objective than mlm+nsp."
    )


def shuffled(index: int, size: int, key: int) -> int:
    """Give the image of an index under a permutation of 0 to size - 1, which the key selects.

    A Feistel network permutes a power of four that is at least `size`; it is repeated until the result is below `size`.
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left = index >> half
        right = index & mask
        for turn in range(_ROUNDS):
            left, right = right, left ^ (_mixed(right + (turn << half), key) & mask)
        index = left << half | right
        if index < size:
            return index


def _mixed(value: int, key: int) -> int:
    """Mix value and key, so that each of 64 bits depends on all bits of both (splitmix64, Steele et al. 2014)."""
    value = (value * 0x9E3779B97F4A7C15 + key) & _WORD
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _WORD
    return value ^ (value >> 31)
