"""Which units every step learns from and at which rate: fixed by the recipe and the seed before the first step."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from benchrunner.randomness import permutation
from benchrunner.recipes import Recipe


@dataclass
class Schedule:
    """The steps of one fit."""

    units: int
    recipe: Recipe
    seed: int
    _order: tuple[int, np.ndarray] | None = field(default=None, repr=False)

    @property
    def steps_per_epoch(self) -> int:
        return math.ceil(self.units / self.recipe.batch_size)

    @property
    def steps(self) -> int:
        return self.steps_per_epoch * self.recipe.epochs

    def batch(self, step: int) -> np.ndarray:
        """The units of a step, counted from 0; every epoch meets every unit once, in an order of its own."""
        epoch, within = divmod(step, self.steps_per_epoch)
        if self._order is None or self._order[0] != epoch:
            self._order = (epoch, permutation(self.units, self.seed, "order", epoch))
        size = self.recipe.batch_size
        return self._order[1][within * size : (within + 1) * size]

    def lr(self, step: int) -> float:
        """Linear from zero over the warm-up, then linear to zero."""
        warmup = math.ceil(self.steps * self.recipe.warmup)
        share = step / warmup if step < warmup else (self.steps - step) / max(1, self.steps - warmup)
        return self.recipe.lr * share

    def untouched(self) -> float:
        """What weight decay leaves of a weight that has no gradient in any step."""
        return math.prod(1 - self.lr(step) * self.recipe.weight_decay for step in range(self.steps))
