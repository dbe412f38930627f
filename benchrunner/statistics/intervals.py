"""What a score says of other rows and other fits: intervals by the bootstrap or Student's t, the best of trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import final

import numpy as np

from benchrunner.errors import Undefined
from benchrunner.metrics import Column, Metric
from benchrunner.statistics.scored_answers import NUMBERS_IN_MEMORY, ScoredAnswers, pseudo_values, scored_restarts

RESAMPLES = 2_000
"""Number of bootstrap resamples."""
SLOW_RESAMPLES = 400
"""Number of bootstrap resamples for metrics that are computed anew for each resample."""
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
    confidence: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Interval:
    """Return a confidence interval of the mean score of these restarts for other examples of the same kind.

    `restarts` has one list of answers for each restart, in the order of `gold`. The bootstrap draws rows with
    replacement, `resamples` times (default: 2,000, or 400 for slow metrics), the same rows for all restarts. The
    interval is Efron's BCa (1987), with the acceleration from the jackknife. Raises `Undefined` if the metric has no
    value.
    """
    scored = scored_restarts(metric, gold, restarts, "restarts")
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
    """Draw rows with replacement, and compute the mean score of the restarts in each resample."""
    rows = len(restarts[0].gold)
    generator = np.random.default_rng(seed)
    most = max(1, NUMBERS_IN_MEMORY // rows)
    parts = []
    for start in range(0, resamples, most):
        size = min(most, resamples - start)
        drawn = generator.integers(rows, size=(size, rows))
        places = drawn + np.arange(size)[:, None] * rows  # each resample counts in a line of its own
        counts = np.bincount(places.ravel(), minlength=size * rows)
        weights = counts.reshape(size, rows).astype(np.float64)
        scores = [restart.scores_of_weights(weights) for restart in restarts]
        parts.append(np.mean(scores, axis=0))
    return np.concatenate(parts)


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


def restart_interval(scores: Sequence[float], *, confidence: float = 0.95) -> Interval | None:
    """Return a confidence interval of the mean score for other restarts on the same rows; None for fewer than two.

    The interval is Student's: mean ± t * deviation / sqrt(n). At 95 %, t is 12.7 for two restarts and 4.3 for three.
    """
    count = len(scores)
    if count < 2:
        return None
    from scipy.special import stdtrit  # Student's quantiles; scipy.stats takes long to import

    mean = math.fsum(scores) / count
    squares = math.fsum((score - mean) ** 2 for score in scores)
    deviation = math.sqrt(squares / (count - 1))
    quantile = float(stdtrit(count - 1, (1 + confidence) / 2))
    half = quantile * deviation / math.sqrt(count)
    return Interval(mean - half, mean + half)


def expected_best(scores: Sequence[float]) -> list[float]:
    """Return the expected best score of 1, 2, ..., n trials, where `scores` are the n trials that were made.

    A trial is a fit with hyper-parameters and a seed (Dodge et al. 2019, "Show Your Work", section 3.1). The trials of
    each expected value are drawn from `scores` with replacement, so that the k-th value is the mean of the highest
    score over all n**k draws. The i-th smallest score is the highest of k draws with the probability
    (i / n)**k - ((i - 1) / n)**k.
    """
    count = len(scores)
    expected = []
    for trials in range(1, count + 1):
        parts = []
        for rank, score in enumerate(sorted(scores), start=1):
            probability = (rank / count) ** trials - ((rank - 1) / count) ** trials
            parts.append(score * probability)
        expected.append(sum(parts))
    return expected
