"""Which units every step learns from and at which rate: fixed by the recipe and the seed before the first step."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from benchrunner.features.randomness import permutation
from benchrunner.recipes import Recipe


def share_of_peak(step: int, steps: int, warmup: int) -> float:
    """A rate's share of its peak: linear from zero over so many steps of warm-up, then linear to zero."""
    return step / warmup if step < warmup else (steps - step) / max(1, steps - warmup)


@dataclass
class Schedule:
    """The steps of one fit."""

    counts: np.ndarray
    """int64 (units,): how much of the recipe's batch each unit takes"""
    recipe: Recipe
    seed: int
    _epoch: tuple[int, list[np.ndarray]] | None = field(default=None, repr=False)

    @cached_property
    def first_steps(self) -> list[int]:
        """The step that each epoch begins with, and the number of all steps."""
        size, units = self.recipe.batch_size, len(self.counts)
        if (self.counts == 1).all():
            return [epoch * math.ceil(units / size) for epoch in range(self.recipe.epochs + 1)]
        firsts = [0]
        for epoch in range(self.recipe.epochs):
            firsts.append(firsts[-1] + len(self._batches(epoch)))
        return firsts

    @property
    def steps(self) -> int:
        return self.first_steps[-1]

    def batch(self, step: int) -> np.ndarray:
        """The units of a step, counted from 0; every epoch meets every unit once, in an order of its own."""
        epoch = bisect.bisect_right(self.first_steps, step) - 1
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = (epoch, self._batches(epoch))
        return self._epoch[1][step - self.first_steps[epoch]]

    def _batches(self, epoch: int) -> list[np.ndarray]:
        """A unit belongs to the batch in which its first count falls: whole, and on the average the recipe's size."""
        order = permutation(len(self.counts), self.seed, "order", epoch)
        counts = self.counts[order]
        number = (np.cumsum(counts) - counts) // self.recipe.batch_size
        return np.split(order, np.flatnonzero(np.diff(number)) + 1)

    def lr(self, step: int) -> float:
        """The rate of a step, counted from 0."""
        return self.recipe.lr * share_of_peak(step, self.steps, math.ceil(self.steps * self.recipe.warmup))

    def untouched(self) -> float:
        """What weight decay leaves of a weight that has no gradient in any step."""
        return math.prod(1 - self.lr(step) * self.recipe.weight_decay for step in range(self.steps))
