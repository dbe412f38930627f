"""Which tokens are to be predicted, and what stands in their place meanwhile."""

from __future__ import annotations

from typing import final

import numpy as np

from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary


@final
class Masking:
    """The masked language model's task (Devlin et al. 2019, 3.1 and Table 8), for one vocabulary."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        chosen: float,
        rates: tuple[float, float, float],
        most: int | None,
    ) -> None:
        """`rates` are those of [MASK], of a random token, and of the token itself."""
        self._mask, self._chosen, self._rates, self._most = vocabulary.mask, chosen, rates, most
        self._ordinary = np.setdiff1d(np.arange(vocabulary.size, dtype=np.int32), vocabulary.special)
        self._is_special = np.ones(vocabulary.size, dtype=np.bool_)
        self._is_special[self._ordinary] = False

    def apply(self, tokens: np.ndarray, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Changes `tokens` in place; the chosen positions in order, and what stood there."""
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
        """A share of so many, drawn up or down where it is no whole number, so that no length is favoured."""
        wanted = max(1, int(self._chosen * count + draw.random()))
        wanted = min(wanted, count if self._most is None else self._most, count)
        order = draw.random(count).argpartition(wanted - 1)[:wanted] if wanted < count else np.arange(count)
        return np.sort(order)
