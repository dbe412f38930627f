"""Choose the tokens that are to be predicted, and replace them."""

from __future__ import annotations

from typing import final

import numpy as np

from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary


@final
class Masking:
    """Masking for the masked language model (Devlin et al. 2019, 3.1 and Table 8), for one vocabulary."""

    def __init__(self, vocabulary: Vocabulary, chosen: float, rates: tuple[float, float, float]) -> None:
        """`chosen` is the share of predicted tokens; `rates` are the shares of [MASK], random and unchanged ones."""
        self._mask, self._chosen, self._rates = vocabulary.mask, chosen, rates
        self._ordinary = np.setdiff1d(np.arange(vocabulary.size, dtype=np.int32), vocabulary.special)
        self._is_special = np.ones(vocabulary.size, dtype=np.bool_)
        self._is_special[self._ordinary] = False

    def apply(self, tokens: np.ndarray, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Mask `tokens` in place; give the chosen positions in ascending order, and the original tokens there."""
        candidates = np.flatnonzero(~self._is_special[tokens])
        positions = candidates[self._choose(len(candidates), draw)]
        labels = tokens[positions]
        kind = draw.random(len(positions))
        masked = kind < self._rates[0]
        random = ~masked & (kind < self._rates[0] + self._rates[1])
        tokens[positions[masked]] = self._mask
        tokens[positions[random]] = self._ordinary[draw.integers(len(self._ordinary), size=int(random.sum()))]
        return positions, labels

    def _choose(self, count: int, draw: np.random.Generator) -> np.ndarray:
        """Choose a share of `count` tokens.

        A share that is no whole number is rounded up or down at random, so that its mean is the same at every length.
        """
        chosen = min(max(1, int(self._chosen * count + draw.random())), count)
        order = draw.random(count).argpartition(chosen - 1)[:chosen] if chosen < count else np.arange(count)
        return np.sort(order)
