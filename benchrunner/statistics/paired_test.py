"""Test whether two backbones, or two fits, differ in their scores on the same rows.

The variance of a difference between two backbones is the sum of a part from the rows and a part from the restarts.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, final

import numpy as np

from benchrunner.metrics import Column, Metric
from benchrunner.statistics.scored_answers import ScoredAnswers, pseudo_values, scored_restarts
from benchrunner.statistics.single_fits import mcnemar, swap_test

SMALLEST_P = 1e-12
"""Smallest p-value that `combined_p` returns; smaller values have no meaning with a few hundred rows."""


Claim = Literal["backbones", "fits"]
Name = TypeVar("Name", bound=Hashable)
Method = Literal["mcnemar", "permutation", "rows and restarts", "rows"]


@final
@dataclass(frozen=True)
class Comparison:
    """The difference between the mean scores of `a` and `b`, and whether it is more than chance. Positive: `a` wins."""

    difference: float
    """Mean score of `a` less mean score of `b`, on the scale of the metric's values."""
    low: float
    """Lower end of the confidence interval of the difference."""
    high: float
    """Upper end of the confidence interval."""
    p: float
    """Two-sided p-value: how probable a difference at least as large is if there is none."""
    claim: Claim
    """What p and the interval hold for. "backbones": other rows and other restarts, if both have several restarts.
    "fits": these fits on other rows, if `a` or `b` has a single restart; the seeds alone may explain the difference."""
    method: Method
    """How p was computed: "mcnemar" or "permutation" for two single fits, "rows and restarts" for several restarts of
    both, "rows" if only `a` or only `b` has several restarts."""
    rows: int
    """Number of rows."""
    restarts: tuple[int, int]
    """Numbers of restarts of `a` and of `b`."""
    confidence: float = 0.95
    """Confidence of the interval from `low` to `high`."""


def paired_test(
    metric: Metric | str,
    gold: Column,
    a: Sequence[Column],
    b: Sequence[Column],
    seed: int = 0,
    *,
    confidence: float = 0.95,
    resamples: int | None = None,
) -> Comparison:
    """Compare the answers of two backbones to the same rows, with all their restarts.

    `a` and `b` have one list of answers for each restart, in the order of `gold`. `metric` is a metric or the name of a
    metric without settings, such as "accuracy". Restarts are not paired: their order does not matter.

    With two or more restarts of both, the test asks about other rows and other restarts: see docs/statistics.md. With
    one restart of each, it compares the two fits: by McNemar's exact test for accuracy, and by a permutation test for
    other metrics, which swaps the answers to random rows, `resamples` times with `seed`. Raises `Undefined` if a
    restart has no score.
    """
    scored_a = scored_restarts(metric, gold, a, "a")
    scored_b = scored_restarts(metric, gold, b, "b")
    return compare_scored(scored_a, scored_b, seed=seed, confidence=confidence, resamples=resamples)


def compare_scored(
    a: Sequence[ScoredAnswers],
    b: Sequence[ScoredAnswers],
    *,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int | None = None,
) -> Comparison:
    """Return the comparison that `paired_test` returns, from answers that are already scored."""
    scores_a = np.array([fit.score for fit in a])
    scores_b = np.array([fit.score for fit in b])
    difference = float(scores_a.mean() - scores_b.mean())
    restarts = (len(a), len(b))
    several = min(restarts) > 1
    claim: Claim = "backbones" if several else "fits"
    method: Method = "rows and restarts" if several else "rows"
    p = 1.0
    half = 0.0
    if differing := _differing_rows([restart.answers for restart in (*a, *b)]):
        parts = [row_part(pseudo_values(a), pseudo_values(b), differing, without_interaction=several)]
        if several:
            parts.append(restart_part(scores_a, scores_b))
        half = half_width(parts, 1 - confidence)
        p = combined_p(difference, parts)
    if restarts == (1, 1):
        if a[0].right is not None and b[0].right is not None:
            method = "mcnemar"
            p = mcnemar(a[0].right, b[0].right)
        else:
            method = "permutation"
            p = swap_test(a[0], b[0], seed=seed, resamples=resamples)
    return Comparison(
        difference=difference,
        low=difference - half,
        high=difference + half,
        p=p,
        claim=claim,
        method=method,
        rows=len(a[0].gold),
        restarts=restarts,
        confidence=confidence,
    )


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


def row_part(
    a: np.ndarray,
    b: np.ndarray,
    differing: int,
    *,
    without_interaction: bool,
) -> Part:
    """Return the part of the variance that comes from the rows, by the pseudo-values of both backbones.

    `a` and `b` are (restarts, blocks). `without_interaction` subtracts the variation between rows that changes from
    restart to restart, because the part of the restarts contains it already. `differing` is the number of rows to which
    the two backbones do not always give the same answers. One less is the number of degrees of freedom, because the
    other rows tell nothing about the difference.
    """
    blocks = a.shape[1]
    differences = a.mean(axis=0) - b.mean(axis=0)
    variance = float(differences.var(ddof=1)) / blocks
    if without_interaction:
        variance -= _interaction(a) + _interaction(b)
    return Part(max(0.0, variance), max(1, min(differing, blocks) - 1))


def _interaction(values: np.ndarray) -> float:
    """Compute the part of the mean's variance that comes from differences between rows that change with the restart."""
    restarts, blocks = values.shape
    of_rows = values.mean(axis=0)
    of_restarts = values.mean(axis=1, keepdims=True)
    rest = values - of_rows - of_restarts + values.mean()
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
    share_a = (of_a / total) ** 2 / (len(a) - 1)
    share_b = (of_b / total) ** 2 / (len(b) - 1)
    return Part(total, 1 / (share_a + share_b))


def half_width(parts: Sequence[Part], alpha: float) -> float:
    """Compute half the width of the interval that misses the true difference with probability `alpha` at most.

    The half width is the root of the sum of t**2 * variance over the parts, each with the t of its own degrees of
    freedom (Banerjee 1960). The probability is at most `alpha` for any sizes of the parts, which Satterthwaite's
    approximation does not guarantee.
    """
    return math.sqrt(sum(part.squared_half_width(alpha) for part in parts))


def combined_p(difference: float, parts: Sequence[Part]) -> float:
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


def _differing_rows(restarts: Sequence[Column]) -> int:
    """Count the rows to which two or more restarts give different answers."""
    differing = set[int]()
    for answers in restarts[1:]:
        for row, first in enumerate(restarts[0]):
            if answers[row] != first:
                differing.add(row)
    return len(differing)


def holm(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """Return the p-value of each test, adjusted for the number of tests (Holm 1979), in the given order.

    If the tests with an adjusted p-value below 0.05 are reported, the probability of even one false report is at most
    5 %, whatever the dependence between the tests. The k-th smallest of n p-values is multiplied by n - k + 1; an
    adjusted p-value is at least as large as those of smaller p-values, and at most 1.
    """
    adjusted = dict(p_values)
    largest = 0.0
    names = sorted(p_values, key=lambda name: p_values[name])
    for rank, name in enumerate(names):
        multiplied = (len(names) - rank) * p_values[name]
        largest = max(largest, min(1.0, multiplied))
        adjusted[name] = largest
    return adjusted
