"""Intervals: SciPy's bootstrap, Student's t by hand, and resamples without a score."""

from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from benchrunner.errors import Undefined
from benchrunner.metrics import Metric
from benchrunner.metrics.classification import ACCURACY, MATTHEWS
from benchrunner.metrics.correlation import PEARSON, SPEARMAN
from benchrunner.statistics import Interval, example_interval, restart_interval
from benchrunner.statistics.intervals import _bca_levels


@pytest.mark.parametrize("metric", [PEARSON, SPEARMAN], ids=["pearson", "spearman"])
def test_the_interval_over_examples_is_scipys_bca(metric: Metric) -> None:
    generator = np.random.default_rng(0)
    gold = generator.normal(size=40)
    answers = gold + generator.exponential(size=40)
    expected = stats.bootstrap(
        (gold, answers),
        lambda first, second: metric.value(first.tolist(), second.tolist()),
        paired=True,
        vectorized=False,
        n_resamples=2_000,
        method="BCa",
        rng=generator,
    ).confidence_interval
    interval = example_interval(metric, gold.tolist(), [answers.tolist()], resamples=20_000)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), abs=0.02)


def test_restarts_are_averaged_within_a_resample() -> None:
    """Two restarts that are right on opposite rows always have the mean 0.5."""
    gold = [1] * 20
    interval = example_interval(ACCURACY, gold, [[1, 0] * 10, [0, 1] * 10])
    assert (interval.low, interval.high) == (0.5, 0.5)


def test_the_interval_over_restarts_by_hand() -> None:
    """Mean 0.8, deviation 0.1, t of two degrees of freedom 4.3027."""
    interval = restart_interval([0.7, 0.8, 0.9])
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.8 - 4.30265 * 0.1 / 3**0.5, 0.8 + 4.30265 * 0.1 / 3**0.5))
    assert restart_interval([0.7]) is None
    assert restart_interval([0.0, 1.0], limits=(0.0, 1.0)) == Interval(0.0, 1.0)
    assert MATTHEWS.limits(-0.2) == (-1.0, 1.0) and ACCURACY.limits(0.2) == (0.0, 1.0)


def test_a_metric_without_row_sums_has_an_interval() -> None:
    gold, answers = [1, 0] * 20, [1, 1, 0, 0] * 10
    slow = Metric("slow", ACCURACY.compute)
    fast, interval = (example_interval(metric, gold, [answers], resamples=300) for metric in (ACCURACY, slow))
    assert (fast.low, fast.high) == (interval.low, interval.high)


def test_too_many_resamples_without_a_score_are_an_error() -> None:
    with pytest.raises(Undefined, match="pearson has no value in"):
        example_interval(PEARSON, [1, 1, 1, 2], [[1, 2, 3, 4]])


def test_resamples_with_the_same_score_count_half() -> None:
    """By hand: with one below, two equal and one above, nothing is corrected; with two below, the ends rise."""
    values = np.array([0.4, 0.6])
    assert _bca_levels(np.array([0.4, 0.5, 0.5, 0.6]), 0.5, values, 0.95) == pytest.approx((0.025, 0.975))
    bias = NormalDist().inv_cdf(5 / 8)  # 2 of 4 are below, 1 is equal
    levels = _bca_levels(np.array([0.3, 0.4, 0.5, 0.6]), 0.5, values, 0.95)
    ends = (NormalDist().cdf(2 * bias - 1.959964), NormalDist().cdf(2 * bias + 1.959964))
    assert levels == pytest.approx(ends, abs=1e-6)
