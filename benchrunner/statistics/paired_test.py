"""Test whether two backbones, or two fits, differ in their scores on the same rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, final

import numpy as np

from benchrunner.metrics import Metric
from benchrunner.statistics.scored_answers import ScoredAnswers, pseudo_values, scored_restarts
from benchrunner.statistics.single_fits import mcnemar, swap_test
from benchrunner.statistics.variances import combined_p, half_width, restart_part, row_part

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
    gold: Sequence[Any],
    a: Sequence[Sequence[Any]],
    b: Sequence[Sequence[Any]],
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
        of_rows = row_part(pseudo_values(a), pseudo_values(b), differing, without_interaction=several)
        parts = (of_rows, restart_part(scores_a, scores_b)) if several else (of_rows,)
        half = half_width(parts, 1 - confidence)
        p = combined_p(difference, parts)
    if restarts == (1, 1):
        method, p = _of_single_fits(a[0], b[0], seed, resamples)
    rows = len(a[0].gold)
    return Comparison(difference, difference - half, difference + half, p, claim, method, rows, restarts, confidence)


def _of_single_fits(a: ScoredAnswers, b: ScoredAnswers, seed: int, resamples: int | None) -> tuple[Method, float]:
    """Test two single fits by the method that suits the metric; return the method's name and the p-value."""
    if a.right is not None and b.right is not None:
        return "mcnemar", mcnemar(a.right, b.right)
    return "permutation", swap_test(a, b, seed=seed, resamples=resamples)


def _differing_rows(restarts: Sequence[Sequence[Any]]) -> int:
    """Count the rows to which two or more restarts give different answers."""
    first = restarts[0]
    differing = [False] * len(first)
    for answers in restarts[1:]:
        differing = [before or a != b for before, a, b in zip(differing, first, answers, strict=True)]
    return sum(differing)


def holm(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """Return the p-value of each test, adjusted for the number of tests (Holm 1979), in the given order.

    If the tests with an adjusted p-value below 0.05 are reported, the probability of even one false report is at most
    5 %, whatever the dependence between the tests. The k-th smallest of n p-values is multiplied by n - k + 1; an
    adjusted p-value is at least as large as those of smaller p-values, and at most 1.
    """
    adjusted = dict(p_values)
    largest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = largest
    return adjusted
