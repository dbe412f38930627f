"""Choose the tokens that are to be predicted, and replace them."""

from __future__ import annotations

from functools import partial
from typing import final

import numpy as np

from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.settings import Settings


@final
class Masking:
    """Masking for the masked language model (Devlin et al. 2019, 3.1 and Table 8), for one vocabulary."""

    def __init__(self, vocabulary: Vocabulary, settings: Settings) -> None:
        self._mask = vocabulary.mask
        self._chosen = settings.chosen
        self._rates = settings.mask_shares
        everything = np.arange(vocabulary.size, dtype=np.int32)
        ordinary = np.setdiff1d(everything, vocabulary.special)
        self._replacements = everything if settings.random_tokens == "all" else ordinary
        self._can_be_chosen = np.zeros(vocabulary.size, dtype=np.bool_)
        self._can_be_chosen[ordinary] = True
        self._can_be_chosen[vocabulary.unknown] = settings.predict_unknown
        self._continues = vocabulary.continues() if settings.whole_words else None

    def apply(self, tokens: np.ndarray, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Mask `tokens` in place; give the chosen positions in ascending order, and the original tokens there."""
        candidates = np.flatnonzero(self._can_be_chosen[tokens])
        choose = (
            self._choose if self._continues is None else partial(self._choose_words, self._words(tokens, candidates))
        )
        positions = candidates[choose(len(candidates), draw)]
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

    def _words(self, tokens: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Give the first candidate of each word. A word is a piece with the pieces that continue it, side by side."""
        assert self._continues is not None
        continues = self._continues[tokens[candidates]]
        continues[1:] &= np.diff(candidates) == 1
        continues[:1] = False
        return np.flatnonzero(~continues)

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
