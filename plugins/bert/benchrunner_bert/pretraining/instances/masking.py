"""Choose the tokens that are to be predicted, and replace them."""

from __future__ import annotations

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

    def apply(self, tokens: np.ndarray, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Mask `tokens` in place; give the chosen positions in ascending order, and the original tokens there."""
        candidates = np.flatnonzero(self._can_be_chosen[tokens])
        positions = candidates[self._choose(len(candidates), draw)]
        labels = tokens[positions]
        kind = draw.random(len(positions))
        masked = kind < self._rates[0]
        random = ~masked & (kind < self._rates[0] + self._rates[1])
        tokens[positions[masked]] = self._mask
        drawn = draw.integers(len(self._replacements), size=int(random.sum()))
        tokens[positions[random]] = self._replacements[drawn]
        return positions, labels

    def _choose(self, count: int, draw: np.random.Generator) -> np.ndarray:
        """Choose a share of `count` tokens.

        A share that is no whole number is rounded up or down at random, so that its mean is the same at every length.
        """
        chosen = min(max(1, int(self._chosen * count + draw.random())), count)
        if chosen == count:
            return np.arange(count)
        order = draw.random(count).argpartition(chosen - 1)
        return np.sort(order[:chosen])
