"""What a score says of other rows and other fits: intervals by the bootstrap or Student's t, the best of trials."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import final

import numpy as np

from benchrunner.errors import Undefined
from benchrunner.metrics import Column, Metric
from benchrunner.statistics.scored_answers import (
    NUMBERS_IN_MEMORY,
    ScoredAnswers,
    effective_number,
    pseudo_values,
    scored_restarts,
)

RESAMPLES = 2_000
"""Number of bootstrap resamples."""
SLOW_RESAMPLES = 400
"""Number of bootstrap resamples for metrics that are computed anew for each resample."""
FEW_CLUSTERS = 30
"""With fewer clusters (their effective number), the bootstrap's intervals are too narrow."""
MOST_UNDEFINED = 0.05
"""Largest share of resamples without a score. A resample has none, for example, if all of its labels are equal."""


@final
@dataclass(frozen=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float

    def as_json(self) -> list[float]:
        """Return the interval as JSON: a list of its lower and its upper end."""
        return [self.low, self.high]


def example_interval(
    metric: Metric | str,
    gold: Column,
    restarts: Sequence[Column],
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Interval:
    """Return a confidence interval of the mean score of these restarts for other examples of the same kind.

    `restarts` has one list of answers for each restart, in the order of `gold`. `clusters` has an id for each row;
    rows with equal ids are not independent of each other, and the interval is for other clusters. The bootstrap draws
    rows or clusters with replacement, `resamples` times (default: 2,000, or 400 for slow metrics), the same ones for
    all restarts. The interval is Efron's BCa (1987), with the acceleration from the jackknife. With fewer than 30
    clusters, it is Student's, with the jackknife's error. Raises `Undefined` if the metric has no value.
    """
    scored = scored_restarts(metric, gold, restarts, "restarts", clusters)
    return interval_of_scored(scored, confidence=confidence, resamples=resamples, seed=seed)


def interval_of_scored(
    restarts: Sequence[ScoredAnswers],
    *,
    confidence: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Interval:
    """Return the interval that `example_interval` returns, from answers that are already scored."""
    score = math.fsum(restart.score for restart in restarts) / len(restarts)
    clusters = effective_number(restarts[0].units)
    if restarts[0].folds > 1 or (restarts[0].clusters is not None and clusters < FEW_CLUSTERS):
        values = pseudo_values(restarts).mean(axis=0)  # stretched for cross-validation
        error = math.sqrt(float(values.var(ddof=1)) / len(values))
        return _student(score, error, max(1.0, clusters - 1), confidence, restarts[0].metric.limits(score))
    if not resamples:
        resamples = RESAMPLES if restarts[0].is_fast else SLOW_RESAMPLES
    drawn = _drawn_scores(restarts, resamples, seed)
    finite = drawn[np.isfinite(drawn)]
    if len(finite) < (1 - MOST_UNDEFINED) * len(drawn):
        name = restarts[0].metric.name
        raise Undefined(f"{name} has no value in {len(drawn) - len(finite)} of {len(drawn)} resamples")
    values = pseudo_values(restarts).mean(axis=0)
    levels = _bca_levels(finite, score, values, confidence)
    low, high = np.quantile(finite, levels).tolist()
    return Interval(low, high)


def _drawn_scores(
    restarts: Sequence[ScoredAnswers],
    resamples: int,
    seed: int,
) -> np.ndarray:
    """Draw units (rows or clusters) with replacement, and compute the mean score of the restarts in each resample."""
    first = restarts[0]
    drawn: Iterable[np.ndarray] = _weights(first.units, resamples, seed)
    if first.clusters is None and resamples * len(first.gold) <= NUMBERS_IN_MEMORY:
        drawn = [_weights_of_rows(len(first.gold), resamples, seed)]
    parts = []
    for weights in drawn:
        scores = [restart.scores_of_weights(weights) for restart in restarts]
        parts.append(np.mean(scores, axis=0))
    return np.concatenate(parts)


@lru_cache(maxsize=1)
def _weights_of_rows(rows: int, resamples: int, seed: int) -> np.ndarray:
    """Return all weights of `_weights` for rows without clusters, which are those of the next score, too."""
    (weights,) = _weights(np.arange(rows), resamples, seed)
    weights.flags.writeable = False
    return weights


def _weights(unit_of: np.ndarray, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Yield how often each row is drawn, (resamples, rows), for as many resamples at once as the memory allows."""
    units = int(unit_of.max()) + 1
    generator = np.random.default_rng(seed)
    most = max(1, NUMBERS_IN_MEMORY // len(unit_of))
    for start in range(0, resamples, most):
        size = min(most, resamples - start)
        drawn = generator.integers(units, size=(size, units))
        places = drawn + np.arange(size)[:, None] * units  # each resample counts in a line of its own
        counts = np.bincount(places.ravel(), minlength=size * units)
        yield counts.reshape(size, units)[:, unit_of].astype(np.float64)


def _bca_levels(
    drawn: np.ndarray,
    score: float,
    values: np.ndarray,
    confidence: float,
) -> tuple[float, float]:
    """Return two levels: the quantiles of the resampled scores at these levels are the ends of the interval."""
    tail = (1 - confidence) / 2
    below = ((drawn < score).mean() + (drawn <= score).mean()) / 2  # equal scores count half
    deviations = values - values.mean()
    spread = float((deviations**2).sum())
    if not 0 < below < 1 or spread <= 0:
        return tail, 1 - tail
    acceleration = float((deviations**3).sum()) / (6 * spread**1.5)
    normal = NormalDist()
    bias = normal.inv_cdf(float(below))

    def level(quantile: float) -> float:
        shifted = bias + quantile
        return normal.cdf(bias + shifted / (1 - acceleration * shifted))

    return level(normal.inv_cdf(tail)), level(normal.inv_cdf(1 - tail))


def restart_interval(
    scores: Sequence[float], *, confidence: float = 0.95, limits: tuple[float, float] | None = None
) -> Interval | None:
    """Return a confidence interval of the mean score for other restarts on the same rows; None for fewer than two.

    The interval is Student's: mean ± t * deviation / sqrt(n). At 95 %, t is 12.7 for two restarts and 4.3 for three.
    It does not pass the `limits` of the scores.
    """
    count = len(scores)
    if count < 2:
        return None
    mean = math.fsum(scores) / count
    squares = math.fsum((score - mean) ** 2 for score in scores)
    error = math.sqrt(squares / (count - 1) / count)
    return _student(mean, error, count - 1, confidence, limits)


def _student(
    mean: float, error: float, freedom: float, confidence: float, limits: tuple[float, float] | None
) -> Interval:
    """Return Student's interval, within limits, around a mean whose error has these degrees of freedom."""
    from scipy.special import stdtrit  # Student's quantiles; scipy.stats takes long to import

    half = float(stdtrit(freedom, (1 + confidence) / 2)) * error
    low, high = limits or (-math.inf, math.inf)
    return Interval(max(mean - half, low), min(mean + half, high))


def share_interval(count: int, total: int, *, confidence: float = 0.95) -> Interval:
    """Return a confidence interval of a share, of which `count` of `total` were seen (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    tail = (1 - confidence) / 2
    low = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return Interval(low, high)


def expected_best(scores: Sequence[float]) -> list[float]:
    """Return the expected best score of 1, 2, ..., n trials, where `scores` are the n trials that were made.

    A trial is a fit with hyper-parameters and a seed (Dodge et al. 2019, "Show Your Work", section 3.1). The k-th value
    is the mean of the highest score over all sets of k of the trials, which is not biased (Tang et al. 2020). The
    highest score is that of k / n of the sets, and the i-th smallest is that of (i + 1 - k) / i times as many as the
    next higher one.
    """
    count = len(scores)
    expected: list[float] = []
    for trials in range(1, count + 1):
        parts = []
        share = trials / count
        for lower, score in zip(range(count - 1, -1, -1), sorted(scores, reverse=True), strict=True):
            parts.append(score * share)
            share *= (lower + 1 - trials) / max(1, lower)
        before = expected[-1] if expected else -math.inf
        expected.append(max(before, math.fsum(parts)))  # without rounding errors it never falls
    return expected
