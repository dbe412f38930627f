"""Comparisons of two systems in a column: the difference with its interval and p-values, and what they show."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, final

from benchrunner.studies.study import Place

ALPHA = 0.05
"""Level of the tests: the probability of even one false mark in a table is at most this."""
Claim = Literal["arms", "backbones", "fits"]
Method = Literal["permutation", "rows and pre-trainings", "rows and restarts", "rows", "equal answers"]


@final
@dataclass(frozen=True)
class Part:
    """A part of a variance, with its degrees of freedom."""

    variance: float
    freedom: float


@final
@dataclass(frozen=True)
class Comparison:
    """The difference between the mean scores of `a` and `b`, and whether it is more than chance."""

    difference: float
    """Mean score of `a` less mean score of `b`, on the scale of the metric's values."""
    low: float
    """Lower end of the confidence interval of the difference."""
    high: float
    """Upper end of the confidence interval."""
    p: float
    """Two-sided p-value: how probable a difference at least as large is if there is none."""
    claim: Claim
    """What p and the interval hold for. "arms": other rows, other pre-trainings and other restarts, if `a` and `b` are
    arms of several pre-trainings each. "backbones": other rows and other restarts, if both have several restarts.
    "fits": these fits on other rows, if `a` or `b` has a single restart; the seeds alone may explain the difference."""
    method: Method
    """How p was computed: "permutation" for two single fits, "rows and restarts" for several restarts of both, "rows
    and pre-trainings" for two arms, "rows" if only `a` or only `b` has several restarts or both are single
    cross-validations, "equal answers" if no answer differs."""
    rows: int
    """Number of rows."""
    restarts: tuple[int, int]
    """Numbers of restarts of `a` and of `b`, those of all pre-trainings of an arm."""
    pre_trainings: tuple[int, int] = (1, 1)
    """Numbers of pre-trainings of `a` and of `b`; several for an arm."""
    confidence: float = 0.95
    """Confidence of the interval from `low` to `high`."""
    parts: tuple[Part, ...] = field(default=(), repr=False, compare=False)
    """The parts of the variance of the difference; none if no answer differs."""
    detectable: float = 0.0
    """The true difference that such answers show as clear in 80 of 100 studies; a `Pair` knows whether they say it."""
    lower_is_better: bool = False
    """Whether the metric is an error, so that a negative difference says that `a` is better."""
    most: float | None = None
    """The largest difference that values of the metric can have; None without limits."""

    @property
    def gain(self) -> float:
        """By how much `a` is better than `b`."""
        return -self.difference if self.lower_is_better else self.difference

    @property
    def reversed(self) -> Comparison:
        """The comparison of `b` with `a`."""
        return replace(
            self,
            difference=-self.difference,
            low=-self.high,
            high=-self.low,
            restarts=self.restarts[::-1],
            pre_trainings=self.pre_trainings[::-1],
        )

    def is_equivalent(self, margin: float) -> bool:
        """Whether the true difference is shown to be `margin` at most: the whole interval lies within ±margin.

        These are two one-sided tests (Schuirmann 1987), each at half of what `confidence` leaves. Where all answers are
        equal, this says nothing about other rows.
        """
        return max(-self.low, self.high) <= margin


class Pairing(NamedTuple):
    """Two systems or arms that are compared in a column."""

    system: str
    other: str
    column: str

    @property
    def places(self) -> tuple[Place, Place]:
        """The figures that are compared."""
        return (self.system, self.column), (self.other, self.column)


@final
@dataclass(frozen=True)
class Pair:
    """The difference of a system or an arm from another one, in a column."""

    comparison: Comparison
    """The first answers are the system's, so that a positive difference is in favour of the system. The interval is
    corrected for all tests of the study, and contains 0 unless the difference is clear."""
    adjusted_p: float
    """The p-value, corrected for all tests of the study, for their directions, and for its looks."""
    scale: float = 1.0
    """Factor by which tables multiply the figures."""
    margin: float | None = None
    """The largest difference, in points as tables show them, that counts as equivalent; None if none is given."""
    has_learned: bool = True
    """Whether a fit of the two is better than the majority. Other answers hardly vary, and do not say what would."""

    @property
    def is_clear(self) -> bool:
        """Whether the difference survives the correction."""
        return self.adjusted_p < ALPHA

    @property
    def points(self) -> float:
        """The difference, as tables show it."""
        return self.comparison.difference * self.scale

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the interval, as tables show them."""
        return self.comparison.low * self.scale, self.comparison.high * self.scale

    @property
    def interval_text(self) -> str:
        """The interval, as sentences write it."""
        return "{:+.1f} to {:+.1f}".format(*self.ends)

    @property
    def detectable(self) -> float:
        """The true difference, as tables show it, that is likely to be shown as clear; infinite where no fit has
        learned anything."""
        return self.comparison.detectable * self.scale if self.has_learned else math.inf

    @property
    def is_equivalent(self) -> bool | None:
        """Whether the corrected interval lies within the margin; None without a margin."""
        return None if self.margin is None else self.comparison.is_equivalent(self.margin / self.scale)

    @property
    def reversed(self) -> Pair:
        """The difference of the other system from this one."""
        return replace(self, comparison=self.comparison.reversed)

    def as_json(self) -> dict[str, Any]:
        """Return the test as JSON values, on the scale of the metric's values."""
        facts = dict(vars(self.comparison))
        del facts["parts"], facts["detectable"], facts["most"]
        return facts | {
            "adjusted_p": self.adjusted_p,
            "is_clear": self.is_clear,
            "detectable": self.comparison.detectable if self.has_learned else None,
            "is_equivalent": self.is_equivalent,
        }
