"""Test whether two backbones, two fits, or two arms of several pre-trainings differ in their scores on the same rows.

The variance of a difference is the sum of a part from the rows and a part from the draws: the restarts of a backbone,
or the pre-trainings of an arm.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import final

import numpy as np

from benchrunner import Metric, RequestError
from benchrunner.results import pairs
from benchrunner_statistics.scored_answers import (
    Column,
    ScoredAnswers,
    differing,
    effective_number,
    pseudo_values,
    scored_restarts,
)
from benchrunner_statistics.single_fits import swap_test
from benchrunner_statistics.variance_parts import combined_p, draw_parts, half_width, interaction

METHODS: Mapping[pairs.Claim, pairs.Method] = {
    "arms": "rows and pre-trainings",
    "backbones": "rows and restarts",
    "fits": "rows",
}
"""How the p-value is computed for each claim, unless two single fits are compared."""


@final
@dataclass(frozen=True)
class Side:
    """The draws of one side of a test: the restarts of a backbone, or the pre-trainings of an arm."""

    draws: tuple[tuple[ScoredAnswers, ...], ...]
    """The fits of each draw: a single restart, or all restarts of a pre-training."""
    is_arm: bool = False
    """Whether the draws are pre-trainings."""

    @classmethod
    def of_restarts(cls, restarts: Iterable[ScoredAnswers]) -> Side:
        """Return the side of a backbone with these restarts."""
        return cls(tuple((restart,) for restart in restarts))

    @classmethod
    def of_arm(cls, pre_trainings: Sequence[Sequence[ScoredAnswers]]) -> Side:
        """Return the side of an arm; a single pre-training shows nothing of others, and is a backbone."""
        if len(pre_trainings) == 1:
            return cls.of_restarts(pre_trainings[0])
        return cls(tuple(map(tuple, pre_trainings)), is_arm=True)

    @cached_property
    def fits(self) -> list[ScoredAnswers]:
        """The fits of all draws."""
        return list(itertools.chain.from_iterable(self.draws))

    @cached_property
    def changing_rows(self) -> np.ndarray:
        """Whether two fits give different answers to a row, (rows,)."""
        first, *others = self.fits
        changing = np.zeros(len(first.gold), dtype=bool)
        for fit in others:
            changing |= differing(first.answers, fit.answers)
        return changing

    @cached_property
    def scores(self) -> np.ndarray:
        """The mean score of each draw, (draws,)."""
        means = []
        for draw in self.draws:
            scores = [fit.score for fit in draw]
            means.append(np.mean(scores))
        return np.array(means)

    @property
    def gain(self) -> float:
        """The mean score of the draws, so that more is better."""
        return self.fits[0].metric.gain(float(self.scores.mean()))

    @cached_property
    def pseudo_values(self) -> np.ndarray:
        """The mean pseudo-values of each draw's fits, (draws, blocks)."""
        return np.stack([pseudo_values(draw).mean(axis=0) for draw in self.draws])

    @cached_property
    def values(self) -> np.ndarray:
        """The mean pseudo-values of the draws, (blocks,)."""
        return np.asarray(self.pseudo_values.mean(axis=0))

    @cached_property
    def interaction(self) -> float:
        """The part of the mean's variance that comes from differences between blocks which change with the draw."""
        return interaction(self.pseudo_values)

    @property
    def pre_trainings(self) -> int:
        """The number of pre-trainings."""
        return len(self.draws) if self.is_arm else 1


def are_several(a: Side, b: Side) -> bool:
    """Whether both sides have several draws, so that the test is about other draws, too."""
    return min(len(a.draws), len(b.draws)) > 1


def paired_test(
    metric: Metric | str,
    gold: Column,
    a: Sequence[Column],
    b: Sequence[Column],
    seed: int = 0,
    *,
    clusters: Sequence[Hashable] | None = None,
    folds: int = 1,
    confidence: float = 0.95,
    resamples: int | None = None,
) -> pairs.Comparison:
    """Compare the answers of two backbones to the same rows, with all their restarts.

    `a` and `b` have one list of answers for each restart, in the order of `gold`. `metric` is a metric or the name of a
    metric without settings, such as "accuracy". Restarts are not paired: their order does not matter. `clusters` has an
    id for each row; rows with equal ids, such as the questions about one article, are not independent of each other, so
    that the test asks about other clusters instead of other rows. `folds` is the number of folds where the answers are
    those of a cross-validation.

    With two or more restarts of both, the test asks about other rows and other restarts: docs/proofs/statistics.md.
    With one restart of each, it compares the two fits by a permutation test, which swaps the answers to rows or
    clusters: in all ways where few results are possible, and else `resamples` times at random with `seed`. Raises
    `Undefined` if a restart has no score.
    """
    ours = Side.of_restarts(scored_restarts(metric, gold, a, "a", clusters, folds))
    theirs = Side.of_restarts(scored_restarts(metric, gold, b, "b", clusters, folds))
    return with_interval(compare_sides(ours, theirs, seed=seed, resamples=resamples), 1 - confidence)


def arms_test(
    metric: Metric | str,
    gold: Column,
    a: Sequence[Sequence[Column]],
    b: Sequence[Sequence[Column]],
    seed: int = 0,
    *,
    clusters: Sequence[Hashable] | None = None,
    confidence: float = 0.95,
    resamples: int | None = None,
) -> pairs.Comparison:
    """Compare two arms, each of several pre-trainings.

    `a` and `b` have a list for each pre-training, with one list of answers for each of its restarts. The mean of an arm
    is the mean over its pre-trainings. With two or more pre-trainings of both, the test asks about other rows, other
    pre-trainings and other restarts. An arm with a single pre-training stands for this backbone only, as in
    `paired_test`, which explains the other arguments.
    """
    sides = []
    for name, arm in (("a", a), ("b", b)):
        if not len(arm):
            raise RequestError(f"{name} is empty: give a list for each pre-training, with the answers of its restarts.")
        pre_trainings = [
            scored_restarts(metric, gold, restarts, f"{name}[{number}]", clusters)
            for number, restarts in enumerate(arm)
        ]
        sides.append(Side.of_arm(pre_trainings))
    return with_interval(compare_sides(*sides, seed=seed, resamples=resamples), 1 - confidence)


def compare_sides(
    a: Side,
    b: Side,
    *,
    seed: int = 0,
    resamples: int | None = None,
    at_least: int = 0,
) -> pairs.Comparison:
    """Return the comparison that `paired_test` or `arms_test` returns, from scored answers, without its interval.

    `low` and `high` are the difference until `with_interval` gives it one.

    `at_least` is a number of permutations for a test in a large family; by default there are fewer for slow metrics.
    """
    difference = float(a.scores.mean() - b.scores.mean())
    parts = difference_parts(a, b)
    claim: pairs.Claim = "arms" if a.is_arm and b.is_arm else "backbones" if are_several(a, b) else "fits"
    method: pairs.Method = METHODS[claim]
    if not parts:
        method = "equal answers"
        p = 1.0
    elif len(a.draws) > 1 or len(b.draws) > 1 or max(a.fits[0].folds, b.fits[0].folds) > 1:
        p = combined_p(difference, parts)
    else:
        method = "permutation"
        p = swap_test(a.fits[0], b.fits[0], seed=seed, resamples=resamples, at_least=at_least)
    limits = a.fits[0].metric.limits(a.fits[0].score)
    return pairs.Comparison(
        difference=difference,
        low=difference,
        high=difference,
        p=p,
        claim=claim,
        method=method,
        rows=len(a.fits[0].gold),
        restarts=(len(a.fits), len(b.fits)),
        pre_trainings=(a.pre_trainings, b.pre_trainings),
        parts=tuple(parts),
        lower_is_better=a.fits[0].metric.lower_is_better,
        most=None if limits is None else limits[1] - limits[0],
    )


def with_interval(comparison: pairs.Comparison, alpha: float) -> pairs.Comparison:
    """Return the comparison with the interval that misses the true difference with the probability `alpha`."""
    difference, parts, confidence = comparison.difference, comparison.parts, 1 - alpha
    half = half_width(parts, alpha)
    most = math.inf if comparison.most is None else comparison.most
    error = math.sqrt(sum(part.variance for part in parts))
    return replace(
        comparison,
        low=max(difference - half, -most),
        high=min(difference + half, most),
        confidence=confidence,
        detectable=half_width(parts, 1 - confidence) + NormalDist().inv_cdf(0.8) * error,
    )


def difference_parts(a: Side, b: Side) -> list[pairs.Part]:
    """Return the parts of the variance of the difference between two sides; none if no answer differs.

    The part of the rows leaves out the variation between rows that changes from draw to draw, where the part of the
    draws contains it already. Its degrees of freedom are the effective number of blocks less one, counted by the rows
    that are not always answered alike: the other rows tell nothing about the difference.
    """
    first = a.fits[0]
    rows = a.changing_rows | b.changing_rows | differing(first.answers, b.fits[0].answers)
    if not rows.any():
        return []
    differences = a.values - b.values
    variance = float(differences.var(ddof=1)) / len(differences)
    freedom = max(1.0, effective_number(first.blocks[rows]) - 1)
    if not are_several(a, b):
        return [pairs.Part(variance, freedom)]
    variance -= a.interaction + b.interaction
    return [pairs.Part(max(0.0, variance), freedom), *draw_parts(a.scores, b.scores)]
