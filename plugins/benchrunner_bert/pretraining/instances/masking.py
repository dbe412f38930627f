"""Choose the tokens that are to be predicted, and replace them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from benchrunner import DataError
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.settings import Settings


@final
class Masking:
    """Masking for the masked language model (Devlin et al. 2019, 3.1 and Table 8), for one vocabulary."""

    def __init__(self, vocabulary: Vocabulary, settings: Settings, listed: Sequence[str] = ()) -> None:
        """Prepare the tables of a vocabulary; `listed` are words whose characters whole-word masks keep together."""
        self._mask = vocabulary.mask
        self._chosen = settings.chosen
        self._rates = settings.mask_shares
        everything = np.arange(vocabulary.size, dtype=np.int32)
        ordinary = np.setdiff1d(everything, vocabulary.special)
        self._replacements = everything if settings.random_tokens == "all" else ordinary
        self._can_be_chosen = np.zeros(vocabulary.size, dtype=np.bool_)
        self._can_be_chosen[ordinary] = True
        self._can_be_chosen[vocabulary.unknown] = settings.predict_unknown
        self._words = _Words(vocabulary, listed) if settings.whole_words else None

    def apply(self, tokens: np.ndarray, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Mask `tokens` in place; give the chosen positions in ascending order, and the original tokens there."""
        candidates = np.flatnonzero(self._can_be_chosen[tokens])
        count = len(candidates)
        if self._words is None:
            chosen = self._choose(count, draw)
        else:
            chosen = self._choose_words(self._words.starts(tokens, candidates), count, draw)
        positions = candidates[chosen]
        labels = tokens[positions]
        kind = draw.random(len(positions))
        masked = kind < self._rates[0]
        random = ~masked & (kind < self._rates[0] + self._rates[1])
        tokens[positions[masked]] = self._mask
        drawn = draw.integers(len(self._replacements), size=int(random.sum()))
        tokens[positions[random]] = self._replacements[drawn]
        return positions, labels

    def _number(self, count: int, draw: np.random.Generator) -> int:
        """Give the number of tokens to choose among `count`.

        A share that is no whole number is rounded up or down at random, so that its mean is the same at every length.
        """
        return min(max(1, int(self._chosen * count + draw.random())), count)

    def _choose(self, count: int, draw: np.random.Generator) -> np.ndarray:
        """Choose a share of `count` tokens."""
        chosen = self._number(count, draw)
        if chosen == count:
            return np.arange(count)
        order = draw.random(count).argpartition(chosen - 1)
        return np.sort(order[:chosen])

    def _choose_words(self, words: np.ndarray, count: int, draw: np.random.Generator) -> np.ndarray:
        """Choose words in random order until they have a share of `count` tokens; words that exceed it are left out.

        `words` has the index of the first token of each word. A sequence whose every word is too long gives one word.
        """
        room = self._number(count, draw)
        lengths = np.diff(np.append(words, count))
        order = draw.permutation(len(words))
        chosen = np.zeros(len(words), dtype=np.bool_)
        for word in order:
            if lengths[word] <= room:
                chosen[word] = True
                room -= lengths[word]
            if room == 0:
                break
        if not chosen.any():
            chosen[order[:1]] = True
        return np.flatnonzero(np.repeat(chosen, lengths))


@final
class _Words:
    """The words of sequences: a piece with the pieces that continue it, or the pieces of a listed word."""

    def __init__(self, vocabulary: Vocabulary, listed: Sequence[str]) -> None:
        self._continues = vocabulary.continues()
        self._listed = set[tuple[int, ...]]()
        pieces = vocabulary.tokenizer().words.tokens(listed)
        for tokens in np.split(pieces.tokens, pieces.starts[1:-1]):
            word = tuple(tokens.tolist())
            # A word with [UNK] is left out: this piece stands for any character.
            if len(word) > 1 and set(vocabulary.special).isdisjoint(word):
                self._listed.add(word)
        if listed and not self._listed:
            raise DataError("The vocabulary spells no word of --words with two known pieces: choose another list.")
        self._lengths = sorted(set(map(len, self._listed)), reverse=True)

    def starts(self, tokens: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Give the first candidate of each word; the candidates of a word stand side by side.

        Listed words are matched forward from the first token, where several begin the longest.
        """
        continues = self._continues[tokens]
        ids = tokens.tolist()
        start = 0
        while self._lengths and start < len(ids):
            fitting = (length for length in self._lengths if tuple(ids[start : start + length]) in self._listed)
            length = next(fitting, 1)
            continues[start + 1 : start + length] = True
            start += length
        continues = continues[candidates]
        continues[1:] &= np.diff(candidates) == 1
        continues[:1] = False
        return np.flatnonzero(~continues)
