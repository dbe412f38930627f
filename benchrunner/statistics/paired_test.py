"""Test whether two backbones, or two fits, differ in their scores on the same rows.

The variance of a difference between two backbones is the sum of a part from the rows and a part from the restarts.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Literal, TypeVar, final

import numpy as np

from benchrunner.metrics import Column, Metric
from benchrunner.statistics.scored_answers import ScoredAnswers, effective_number, pseudo_values, scored_restarts
from benchrunner.statistics.single_fits import mcnemar, swap_test

SMALLEST_P = 1e-12
"""Smallest p-value that `combined_p` returns; smaller values have no meaning with a few hundred rows."""


Claim = Literal["backbones", "fits"]
Name = TypeVar("Name", bound=Hashable)
Method = Literal["mcnemar", "permutation", "rows and restarts", "rows", "equal answers"]


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
    both, "rows" if only `a` or only `b` has several restarts, "equal answers" if no answer differs."""
    rows: int
    """Number of rows."""
    restarts: tuple[int, int]
    """Numbers of restarts of `a` and of `b`."""
    confidence: float = 0.95
    """Confidence of the interval from `low` to `high`."""
    parts: tuple[Part, ...] = field(default=(), repr=False, compare=False)
    """The parts of the variance of the difference; none if no answer differs."""

    @property
    def detectable(self) -> float:
        """The true difference that such answers show as clear in 80 of 100 studies."""
        error = math.sqrt(sum(part.variance for part in self.parts))
        return half_width(self.parts, 1 - self.confidence) + NormalDist().inv_cdf(0.8) * error


@final
@dataclass(frozen=True)
class Chance:
    """The probability that a new fit of one system scores higher than a new fit of another; a tie counts half."""

    value: float
    low: float
    """Lower end of the confidence interval."""
    high: float


def chance_of_better(a: Sequence[float], b: Sequence[float], *, confidence: float = 0.95) -> Chance:
    """Estimate how probable it is that a new fit of `a` scores higher than one of `b`, from the scores of their fits.

    Unlike the difference of the means, this is not moved by how far a collapsed fit falls; a fit without a score is
    -inf. The interval is Newcombe's (2006, method 5) with Student's quantile, because fits are few. It is about other
    seeds on the same rows, and wide: three fits that all beat three others do not prove a chance above a half.
    """
    from scipy.optimize import brentq
    from scipy.special import stdtrit

    wins = 0.0
    for score in a:
        for other in b:
            wins += 0.5 if score == other else float(score > other)
    value = wins / (len(a) * len(b))
    quantile = float(stdtrit(max(1, len(a) + len(b) - 2), (1 + confidence) / 2))

    def excess(chance: float) -> float:
        """Compute by how much `chance` is farther from the estimate than the interval reaches."""
        others = (len(a) + len(b)) / 2 - 1
        inner = 1 + others * ((1 - chance) / (2 - chance) + chance / (1 + chance))
        return abs(chance - value) - quantile * math.sqrt(chance * (1 - chance) * inner / (len(a) * len(b)))

    least, most = 1e-9, 1 - 1e-9  # at 0 and 1 the error is 0
    inside = min(max(value, least), most)
    low = brentq(excess, least, inside) if excess(least) > 0 else 0.0
    high = brentq(excess, inside, most) if excess(most) > 0 else 1.0
    return Chance(value, low, high)


def paired_test(
    metric: Metric | str,
    gold: Column,
    a: Sequence[Column],
    b: Sequence[Column],
    seed: int = 0,
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int | None = None,
) -> Comparison:
    """Compare the answers of two backbones to the same rows, with all their restarts.

    `a` and `b` have one list of answers for each restart, in the order of `gold`. `metric` is a metric or the name of a
    metric without settings, such as "accuracy". Restarts are not paired: their order does not matter. `clusters` has an
    id for each row; rows with equal ids, such as the questions about one article, are not independent of each other, so
    that the test asks about other clusters instead of other rows.

    With two or more restarts of both, the test asks about other rows and other restarts: see docs/statistics.md. With
    one restart of each, it compares the two fits: by McNemar's exact test for accuracy without clusters, and else by a
    permutation test, which swaps the answers to random rows or clusters, `resamples` times with `seed`. Raises
    `Undefined` if a restart has no score.
    """
    scored_a = scored_restarts(metric, gold, a, "a", clusters)
    scored_b = scored_restarts(metric, gold, b, "b", clusters)
    return compare_scored(scored_a, scored_b, seed=seed, confidence=confidence, resamples=resamples)


def compare_scored(
    a: Sequence[ScoredAnswers],
    b: Sequence[ScoredAnswers],
    *,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int | None = None,
    at_least: int = 0,
) -> Comparison:
    """Return the comparison that `paired_test` returns, from answers that are already scored.

    `at_least` is a number of permutations for a test in a large family; by default there are fewer for slow metrics.
    """
    scores_a = np.array([fit.score for fit in a])
    scores_b = np.array([fit.score for fit in b])
    difference = float(scores_a.mean() - scores_b.mean())
    restarts = (len(a), len(b))
    several = min(restarts) > 1
    claim: Claim = "backbones" if several else "fits"
    method: Method = "rows and restarts" if several else "rows"
    p = 1.0
    parts: list[Part] = []
    differing = _differing_rows([restart.answers for restart in (*a, *b)])
    if differing:
        freedom = effective_number(a[0].blocks[differing]) - 1
        parts = [row_part(pseudo_values(a), pseudo_values(b), freedom, without_interaction=several)]
        if several:
            parts += restart_parts(scores_a, scores_b)
        p = combined_p(difference, parts)
    else:
        method = "equal answers"
    if differing and restarts == (1, 1):
        if a[0].clusters is None and a[0].right is not None and b[0].right is not None:
            method = "mcnemar"
            p = mcnemar(a[0].right, b[0].right)
        else:
            method = "permutation"
            p = swap_test(a[0], b[0], seed=seed, resamples=resamples, at_least=at_least)
    half = half_width(parts, 1 - confidence)
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
        parts=tuple(parts),
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
    freedom: float,
    *,
    without_interaction: bool,
) -> Part:
    """Return the part of the variance that comes from the rows, by the pseudo-values of both backbones.

    `a` and `b` are (restarts, blocks). `without_interaction` subtracts the variation between rows that changes from
    restart to restart, because the part of the restarts contains it already. The degrees of freedom are the effective
    number of blocks less one, counted by the rows to which the two backbones do not always give the same answers: the
    other rows tell nothing about the difference.
    """
    blocks = a.shape[1]
    differences = a.mean(axis=0) - b.mean(axis=0)
    variance = float(differences.var(ddof=1)) / blocks
    if without_interaction:
        variance -= _interaction(a) + _interaction(b)
    return Part(max(0.0, variance), max(1.0, freedom))


def _interaction(values: np.ndarray) -> float:
    """Compute the part of the mean's variance that comes from differences between rows that change with the restart."""
    restarts, blocks = values.shape
    of_rows = values.mean(axis=0)
    of_restarts = values.mean(axis=1, keepdims=True)
    rest = values - of_rows - of_restarts + values.mean()
    freedom = (restarts - 1) * (blocks - 1)
    return float((rest**2).sum() / freedom / values.size)


def restart_parts(a: np.ndarray, b: np.ndarray) -> list[Part]:
    """Return the parts of the variance that come from the restarts, by the scores of two or more restarts of each.

    With equal numbers of restarts, there is one part for both backbones, with Welch's degrees of freedom (1947),
    rounded down. With unequal numbers these degrees of freedom, which are estimated, reject too often (10 % with 10 and
    2 restarts), so that each backbone is a part of its own.
    """
    of_a = Part(float(a.var(ddof=1)) / len(a), len(a) - 1)
    of_b = Part(float(b.var(ddof=1)) / len(b), len(b) - 1)
    if len(a) != len(b) or not of_a.variance + of_b.variance:
        return [of_a, of_b]
    total = of_a.variance + of_b.variance
    squares = of_a.variance**2 + of_b.variance**2
    welch = (len(a) - 1) * total**2 / squares
    return [Part(total, math.floor(welch + 1e-9))]


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


def _differing_rows(restarts: Sequence[Column]) -> list[int]:
    """List the rows to which two or more restarts give different answers."""
    differing = []
    for row, first in enumerate(restarts[0]):
        if any(answers[row] != first for answers in restarts[1:]):
            differing.append(row)
    return differing


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
