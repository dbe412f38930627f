"""Tests whether two backbones, or two fits, differ on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, final

from benchrunner.metrics import Metric
from benchrunner.statistics.pseudo_values import pseudo_values
from benchrunner.statistics.resamples import check_answers, metric_of, score_of_all_rows
from benchrunner.statistics.single_fits import mcnemar, right_or_wrong, swap_test
from benchrunner.statistics.variances import Part, combined_p, half_width, restart_part, row_part

Claim = Literal["backbones", "fits"]
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
    """What p and the interval are about: "backbones", other restarts included, where both have several restarts; or
    "fits", exactly these fits on other rows, where one has a single restart. A difference between fits may be due to
    the seeds alone."""
    method: Method
    """How p was computed: "mcnemar" or "permutation" for two single fits, "rows and restarts" for several restarts of
    both, "rows" for several restarts of one only."""
    rows: int
    """Number of rows."""
    restarts: tuple[int, int]
    """Numbers of restarts of `a` and of `b`."""
    confidence: float = 0.95
    """Confidence of the interval from `low` to `high`."""

    def as_json(self) -> dict[str, Any]:
        """Give the comparison as JSON values."""
        return {**asdict(self), "restarts": list(self.restarts)}


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

    `a` and `b` are lists of answer lists, one for each restart, all in the order of `gold`. `metric` is a metric or the
    name of one that needs no labels, such as "accuracy". Restart 0 of `a` and restart 0 of `b` are not a pair.

    With two or more restarts of both, rows and restarts are random: see docs/statistics.md. With one restart of each,
    the two fits are compared: McNemar's exact test for accuracy, and else a permutation test that swaps the answers to
    rows at random, `resamples` times with `seed`. Raises `Undefined` where a restart has no score.
    """
    import numpy as np

    metric = metric_of(metric)
    check_answers(gold, a, "a")
    check_answers(gold, b, "b")
    scores_a, scores_b = (
        np.array([score_of_all_rows(metric, gold, answers) for answers in restarts]) for restarts in (a, b)
    )
    difference = float(scores_a.mean() - scores_b.mean())
    restarts = (len(a), len(b))
    several = min(restarts) > 1
    claim: Claim = "backbones" if several else "fits"
    method: Method = "rows and restarts" if several else "rows"
    p, half = 1.0, 0.0
    if differing := _differing_rows(a, b):
        values_a, values_b = (pseudo_values(metric, gold, answers) for answers in (a, b))
        parts: tuple[Part, ...] = (row_part(values_a, values_b, differing, without_interaction=several),)
        if several:
            parts = (*parts, restart_part(scores_a, scores_b))
        half, p = half_width(parts, 1 - confidence), combined_p(difference, parts)
    if restarts == (1, 1):
        method, p = _of_single_fits(metric, gold, a[0], b[0], seed, resamples)
    return Comparison(
        difference, difference - half, difference + half, p, claim, method, len(gold), restarts, confidence
    )


def _of_single_fits(
    metric: Metric, gold: Sequence[Any], a: Sequence[Any], b: Sequence[Any], seed: int, resamples: int | None
) -> tuple[Method, float]:
    """Choose the test of two single fits, and return its name with the p-value."""
    right_a, right_b = right_or_wrong(metric, gold, a), right_or_wrong(metric, gold, b)
    if right_a is not None and right_b is not None:
        return "mcnemar", mcnemar(right_a, right_b)
    return "permutation", swap_test(metric, gold, a, b, seed=seed, resamples=resamples)


def _differing_rows(a: Sequence[Sequence[Any]], b: Sequence[Sequence[Any]]) -> int:
    """Count the rows to which the restarts of both backbones do not all give the same answer."""
    return sum(any(answer != answers[0] for answer in answers[1:]) for answers in zip(*a, *b, strict=True))
