"""Parts of the variance of a difference: the interval that they allow, and the p-value of the difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchrunner.results import pairs

SMALLEST_P = 1e-12
"""Smallest p-value that `combined_p` returns; smaller values have no meaning with a few hundred rows."""


def interaction(values: np.ndarray) -> float:
    """Compute the part of the variance of pseudo-values, (draws, blocks), that `Side.interaction` is."""
    draws, blocks = values.shape
    rest = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    freedom = (draws - 1) * (blocks - 1)
    return float((rest**2).sum() / freedom / values.size)


def draw_parts(a: np.ndarray, b: np.ndarray) -> list[pairs.Part]:
    """Return the parts of the variance that come from the draws, by the scores of two or more draws of each side.

    The scores of pre-trainings, which are means over restarts, vary with both, so that restarts are no further part.
    With equal numbers of draws, there is one part for both sides, with Welch's degrees of freedom (1947), rounded down.
    With unequal numbers these degrees of freedom, which are estimated, reject too often (10 % with 10 and 2 restarts),
    so that each side is a part of its own.
    """
    of_a = pairs.Part(float(a.var(ddof=1)) / len(a), len(a) - 1)
    of_b = pairs.Part(float(b.var(ddof=1)) / len(b), len(b) - 1)
    if len(a) != len(b) or not of_a.variance + of_b.variance:
        return [of_a, of_b]
    total = of_a.variance + of_b.variance
    squares = of_a.variance**2 + of_b.variance**2
    welch = (len(a) - 1) * total**2 / squares
    return [pairs.Part(total, math.floor(welch + 1e-9))]


def half_width(parts: Sequence[pairs.Part], alpha: float) -> float:
    """Compute half the width of the interval that misses the true difference with probability `alpha` at most.

    The half width is the root of the sum of t**2 * variance over the parts, each with the t of its own degrees of
    freedom (Banerjee 1960). The probability is at most `alpha` for any sizes of the parts, which Satterthwaite's
    approximation does not guarantee.
    """
    from scipy.special import stdtrit  # Student's quantiles, without the checks of scipy.stats.t

    squares = [float(stdtrit(part.freedom, alpha / 2) ** 2 * part.variance) for part in parts if part.variance > 0]
    return math.sqrt(sum(squares))


def combined_p(difference: float, parts: Sequence[pairs.Part]) -> float:
    """Return the p-value: the smallest `alpha` whose interval around the difference does not contain 0."""
    from scipy.optimize import brentq

    if difference == 0:
        return 1.0

    def excess(log_alpha: float) -> float:
        return half_width(parts, math.exp(log_alpha)) - abs(difference)

    lowest = math.log(SMALLEST_P)
    if excess(lowest) <= 0:
        return SMALLEST_P
    return float(math.exp(brentq(excess, lowest, 0.0, xtol=1e-9)))
