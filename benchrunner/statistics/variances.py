"""Variance of a difference between two backbones, as the sum of a part from the rows and a part from the restarts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

SMALLEST_P = 1e-12
"""Smallest p-value that `combined_p` returns; smaller values have no meaning with a few hundred rows."""


@final
@dataclass(frozen=True)
class Part:
    """A part of a variance, with its degrees of freedom."""

    variance: float
    freedom: float

    def squared_half_width(self, alpha: float) -> float:
        """Compute the square of t * deviation, where t is Student's quantile for the two-sided level `alpha`."""
        from scipy.special import stdtrit  # Student's quantiles, without the checks of scipy.stats.t

        quantile: float = stdtrit(self.freedom, alpha / 2)
        return float(quantile**2 * self.variance) if self.variance > 0 else 0.0


def row_part(a: np.ndarray, b: np.ndarray, differing: int, *, without_interaction: bool) -> Part:
    """Return the part of the variance that comes from the rows, by the pseudo-values of both backbones.

    `a` and `b` are (restarts, blocks). `without_interaction` subtracts the variation between rows that changes from
    restart to restart, because the part of the restarts contains it already. `differing` is the number of rows to which
    the two backbones do not always give the same answers. One less is the number of degrees of freedom, because the
    other rows tell nothing about the difference.
    """
    blocks = a.shape[1]
    variance = float((a.mean(axis=0) - b.mean(axis=0)).var(ddof=1)) / blocks
    if without_interaction:
        variance -= _interaction(a) + _interaction(b)
    return Part(max(0.0, variance), max(1, min(differing, blocks) - 1))


def _interaction(values: np.ndarray) -> float:
    """Compute the part of the mean's variance that comes from differences between rows that change with the restart."""
    restarts, blocks = values.shape
    rest = values - values.mean(axis=0) - values.mean(axis=1, keepdims=True) + values.mean()
    freedom = (restarts - 1) * (blocks - 1)
    return float((rest**2).sum() / freedom / values.size)


def restart_part(a: np.ndarray, b: np.ndarray) -> Part:
    """Return the part of the variance that comes from the restarts, by the scores of two or more restarts of each.

    The variance is computed for each backbone by itself; the degrees of freedom are Welch's (1947).
    """
    of_a = float(a.var(ddof=1)) / len(a)
    of_b = float(b.var(ddof=1)) / len(b)
    total = of_a + of_b
    if not total:
        return Part(0.0, 1.0)
    return Part(total, 1 / ((of_a / total) ** 2 / (len(a) - 1) + (of_b / total) ** 2 / (len(b) - 1)))


def half_width(parts: tuple[Part, ...], alpha: float) -> float:
    """Compute half the width of the interval that misses the true difference with probability `alpha` at most.

    The half width is the root of the sum of t**2 * variance over the parts, each with the t of its own degrees of
    freedom (Banerjee 1960). The probability is at most `alpha` for any sizes of the parts, which Satterthwaite's
    approximation does not guarantee.
    """
    return math.sqrt(sum(part.squared_half_width(alpha) for part in parts))


def combined_p(difference: float, parts: tuple[Part, ...]) -> float:
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
