"""What a score says of other rows and other fits: intervals of shares or Student's t, the best of trials."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import fmean

from benchrunner import Metric
from benchrunner.results import intervals
from benchrunner_statistics.scored_answers import (
    Column,
    ScoredAnswers,
    effective_number,
    pseudo_values,
    scored_restarts,
)

FEW_CLUSTERS = 30
"""With fewer clusters (their effective number), intervals are wide, and differences hard to show."""


def example_interval(
    metric: Metric | str,
    gold: Column,
    restarts: Sequence[Column],
    *,
    clusters: Sequence[Hashable] | None = None,
    folds: int = 1,
    confidence: float = 0.95,
) -> intervals.Interval:
    """Return a confidence interval of the mean score of these restarts for other examples of the same kind.

    `restarts` has one list of answers for each restart, in the order of `gold`. `clusters` has an id for each row;
    rows with equal ids are not independent of each other, and the interval is for other clusters. `folds` is the number
    of folds where the answers are those of a cross-validation. The error of the score is that of the jackknife: see
    `interval_of_scored`. Raises `Undefined` if the metric has no value.
    """
    scored = scored_restarts(metric, gold, restarts, "restarts", clusters, folds)
    return interval_of_scored(scored, confidence=confidence)


def interval_of_scored(restarts: Sequence[ScoredAnswers], *, confidence: float = 0.95) -> intervals.Interval:
    """Return the interval that `example_interval` returns, from answers that are already scored.

    The score of a metric with limits has the interval of a share (Clopper and Pearson 1934) of as many rows as have the
    same error (Korn and Graubard 1998). For a score that is no mean over rows, the error is that of the answers with
    those of two rows exchanged, because answers without an error show none. Correlations of numbers have Student's
    interval on Fisher's scale, errors that are never below 0 on a logarithmic one, and others have Student's interval.
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
        half = intervals.student_quantile(freedom, confidence) * error * (high - low) / ((score - low) * (high - score))
        ends = (chances * math.exp(-half), chances * math.exp(half))
        return intervals.Interval(*((low + high * odds) / (1 + odds) for odds in ends))
    if first.metric.lower_is_better and first.metric.lowest >= 0 and score > 0:
        factor = math.exp(intervals.student_quantile(freedom, confidence) * error / score)
        return intervals.Interval(score / factor, score * factor)
    return intervals.student_interval(score, error, freedom, confidence, limits)


def _of_share(
    restarts: Sequence[ScoredAnswers], score: float, limits: tuple[float, float], freedom: float, confidence: float
) -> intervals.Interval:
    """Return the interval of a score between limits, read as a share of rows."""
    low, high = limits
    span = high - low
    exchanged = [restart.exchanged for restart in restarts]
    share = (fmean(restart.score for restart in exchanged) - low) / span
    variance = (_error(exchanged) / span) ** 2
    size = share * (1 - share) / variance if variance else freedom + 1
    few = intervals.student_quantile(len(restarts[0].gold) - 1, confidence) / intervals.student_quantile(
        freedom, confidence
    )
    size = max(1.0, size * few**2)
    ends = intervals.share_interval((score - low) / span * size, size, confidence=confidence)
    return intervals.Interval(low + span * ends.low, low + span * ends.high)


def _error(restarts: Sequence[ScoredAnswers]) -> float:
    """Return the jackknife's standard error of the mean score, stretched for cross-validation."""
    values = pseudo_values(restarts).mean(axis=0)
    return math.sqrt(float(values.var(ddof=1)) / len(values))


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
