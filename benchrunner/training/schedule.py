"""The schedule of a fit: what each step learns from, and at which learning rate; fixed by recipe and seed."""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np

from benchrunner.features.randomness import permutation
from benchrunner.parameters.recipes import Recipe

INVERSE_SQRT_STEPS = 10_000
"""Steps without warm-up after which `inverse-sqrt` has divided the rate by the root of 2, as in transformers."""


def share_of_peak(
    step: int,
    steps: int,
    warmup: int,
    *,
    schedule: str = "released",
    cooldown: float = 0.0,
    final_share: float = 0.0,
) -> float:
    """Give a step's learning rate as a share of its peak: it rises linearly during warm-up, then follows the schedule.

    Steps count from 0. `warmup` is a number of steps; the other values are a recipe's. All schedules but `released` are
    transformers'. With `released`, as in the code of Devlin et al. 2019, warm-up covers the beginning
    of a decay from step 0: step / warmup, then 1 - step / steps. Decay ends at `final_share`. If warm-up has more than
    all steps, the rate does not reach its peak.
    """
    if step < warmup:
        return step / warmup
    share = 1.0
    match schedule:
        case "released":
            share = (steps - step) / steps
        case "after-warmup":
            share = (steps - step) / (steps - warmup)
        case "cosine":
            share = (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2
        case "inverse-sqrt":
            scale = warmup or INVERSE_SQRT_STEPS
            share = math.sqrt(scale / (scale + step - warmup))
        case "trapezoid":
            share = min(1.0, (steps - step) / max(1, counted_steps(steps, cooldown)))
    return final_share + (1 - final_share) * share


def counted_steps(steps: int, amount: float) -> int:
    """Give the number of steps that a recipe's `warmup` or `cooldown` means.

    Above 1 it is that number; otherwise it is a share of all steps, rounded down. The share counts as the decimal
    number that a user writes: 0.29 of 100 steps are 29 steps, although the product of floating-point numbers is below
    29.
    """
    return int(amount) if amount > 1 else int(steps * Fraction(repr(amount)))


@dataclass
class Schedule:
    """Batches and learning rates of one fit."""

    counts: np.ndarray
    """int64 (units,): how many examples of a batch each unit counts as"""
    recipe: Recipe
    seed: int
    _epoch: tuple[int, list[np.ndarray]] | None = field(default=None, repr=False)

    @cached_property
    def first_steps(self) -> list[int]:
        """The first step of each epoch that begins before `max_steps`, then the end of the last of these epochs."""
        most = self.recipe.max_steps or math.inf
        equal = (self.counts == 1).all()  # then all epochs have as many batches
        batches = math.ceil(len(self.counts) / self.recipe.batch_size)
        first_steps = [0]
        for epoch in range(self.recipe.epochs):
            if first_steps[-1] >= most:
                break
            first_steps.append(first_steps[-1] + (batches if equal else len(self._batches(epoch))))
        return first_steps

    @property
    def planned(self) -> int:
        """Number of steps at which the schedule ends; the last epoch may be cut short."""
        last = self.first_steps[-1]
        return min(last, self.recipe.max_steps or last)

    @property
    def steps(self) -> int:
        """Number of steps that are taken."""
        return min(self.planned, self.recipe.stop_at or self.planned)

    @cached_property
    def warmup(self) -> int:
        """Number of steps in which the learning rate rises; it may be more than all steps."""
        return counted_steps(self.planned, self.recipe.warmup)

    @property
    def free_steps(self) -> int:
        """Number of first steps that a longer fit takes alike: see `Recipe.goes_on_from`."""
        if self.recipe.stop_at:
            return self.steps
        if not self.recipe.has_free_steps:
            return 0
        if self.recipe.schedule != "trapezoid" or self.recipe.final_share == 1:
            return self.steps
        return max(0, self.steps - counted_steps(self.steps, self.recipe.cooldown))

    def batch(self, step: int) -> np.ndarray:
        """Give the units of a step, counted from 0. Each epoch has every unit once, in its own order."""
        epoch = bisect.bisect_right(self.first_steps, step) - 1
        if self._epoch is None or self._epoch[0] != epoch:
            self._epoch = (epoch, self._batches(epoch))
        _, batches = self._epoch
        return batches[step - self.first_steps[epoch]]

    def _batches(self, epoch: int) -> list[np.ndarray]:
        """Cut an epoch into batches. A unit is never split: it is in the batch of its first example."""
        order = permutation(len(self.counts), self.seed, "order", epoch)
        counts = self.counts[order]
        first_example = np.cumsum(counts) - counts  # of each unit
        batch = first_example // self.recipe.batch_size
        begins = np.flatnonzero(np.diff(batch)) + 1
        return np.split(order, begins)

    def lr(self, step: int) -> float:
        """Give the learning rate of a step, counted from 0."""
        share = share_of_peak(
            step,
            self.planned,
            self.warmup,
            schedule=self.recipe.schedule,
            cooldown=self.recipe.cooldown,
            final_share=self.recipe.final_share,
        )
        return self.recipe.lr * share

    def decay_without_gradient(self, rate: float = 1.0) -> float:
        """Give the factor by which weight decay shrinks a weight that has no gradient in any step.

        `rate` is the factor between the weight's learning rates and those of the schedule.
        """
        factors = [1 - self.lr(step) * rate * self.recipe.decay for step in range(self.steps)]
        return math.prod(factors)
