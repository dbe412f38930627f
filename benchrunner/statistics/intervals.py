"""What a score says of other rows and other fits: intervals of shares or Student's t, the best of trials."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import final

from benchrunner.metrics import Column, Metric
from benchrunner.statistics.scored_answers import ScoredAnswers, effective_number, pseudo_values, scored_restarts

FEW_CLUSTERS = 30
"""With fewer clusters (their effective number), intervals are wide, and differences hard to show."""


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
    folds: int = 1,
    confidence: float = 0.95,
) -> Interval:
    """Return a confidence interval of the mean score of these restarts for other examples of the same kind.

    `restarts` has one list of answers for each restart, in the order of `gold`. `clusters` has an id for each row;
    rows with equal ids are not independent of each other, and the interval is for other clusters. `folds` is the number
    of folds where the answers are those of a cross-validation. The error of the score is that of the jackknife: see
    `interval_of_scored`. Raises `Undefined` if the metric has no value.
    """
    scored = scored_restarts(metric, gold, restarts, "restarts", clusters, folds)
    return interval_of_scored(scored, confidence=confidence)


def interval_of_scored(restarts: Sequence[ScoredAnswers], *, confidence: float = 0.95) -> Interval:
    """Return the interval that `example_interval` returns, from answers that are already scored.

    The score of a metric with limits has the interval of a share (Clopper and Pearson 1934) of as many rows as have the
    same error (Korn and Graubard 1998). For a score that is no mean over rows, the error is that of the answers with
    those of two rows exchanged, because answers without an error show none. Correlations of numbers have Student's
    interval on Fisher's scale, errors above 0 on a logarithmic one, and other scores have Student's interval.
    """
    first = restarts[0]
    score = fmean(restart.score for restart in restarts)
    limits = first.metric.limits(score)
    freedom = max(1.0, effective_number(first.units) - 1)
    if limits and not first.is_correlation:
        return _of_share(restarts, score, limits, freedom, confidence)
    error = _error(restarts)
    if limits and limits[0] < score < limits[1]:
        low, high = limits
        chances = (score - low) / (high - score)
        half = _quantile(freedom, confidence) * error * (high - low) / ((score - low) * (high - score))
        ends = (chances * math.exp(-half), chances * math.exp(half))
        return Interval(*((low + high * odds) / (1 + odds) for odds in ends))
    if first.metric.lower_is_better and score > 0:
        factor = math.exp(_quantile(freedom, confidence) * error / score)
        return Interval(score / factor, score * factor)
    return _student(score, error, freedom, confidence, limits)


def _of_share(
    restarts: Sequence[ScoredAnswers], score: float, limits: tuple[float, float], freedom: float, confidence: float
) -> Interval:
    """Return the interval of a score between limits, read as a share of rows."""
    low, high = limits
    span = high - low
    exchanged = [restart.exchanged for restart in restarts]
    share = (fmean(restart.score for restart in exchanged) - low) / span
    variance = (_error(exchanged) / span) ** 2
    size = share * (1 - share) / variance if variance else freedom + 1
    few = _quantile(len(restarts[0].gold) - 1, confidence) / _quantile(freedom, confidence)
    size = max(1.0, size * few**2)
    ends = share_interval((score - low) / span * size, size, confidence=confidence)
    return Interval(low + span * ends.low, low + span * ends.high)


def _error(restarts: Sequence[ScoredAnswers]) -> float:
    """Return the jackknife's standard error of the mean score, stretched for cross-validation."""
    values = pseudo_values(restarts).mean(axis=0)
    return math.sqrt(float(values.var(ddof=1)) / len(values))


def restart_interval(
    scores: Sequence[float], *, confidence: float = 0.95, limits: tuple[float, float] | None = None
) -> Interval | None:
    """Return a confidence interval of the mean score for other restarts on the same rows; None for equal scores or one.

    The interval is Student's: mean ± t * deviation / sqrt(n). At 95 %, t is 12.7 for two restarts and 4.3 for three.
    It does not pass the `limits` of the scores.
    """
    count = len(scores)
    if len(set(scores)) < 2:
        return None
    mean = math.fsum(scores) / count
    squares = math.fsum((score - mean) ** 2 for score in scores)
    error = math.sqrt(squares / (count - 1) / count)
    return _student(mean, error, count - 1, confidence, limits)


def _student(
    mean: float, error: float, freedom: float, confidence: float, limits: tuple[float, float] | None
) -> Interval:
    """Return Student's interval, within limits, around a mean whose error has these degrees of freedom."""
    half = _quantile(freedom, confidence) * error
    low, high = limits or (-math.inf, math.inf)
    return Interval(max(mean - half, low), min(mean + half, high))


def _quantile(freedom: float, confidence: float) -> float:
    """Return Student's quantile for an interval with two ends."""
    from scipy.special import stdtrit  # scipy.stats takes long to import

    return float(stdtrit(freedom, (1 + confidence) / 2))


def share_interval(count: float, total: float, *, confidence: float = 0.95) -> Interval:
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
