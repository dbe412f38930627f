"""Intervals: exact ones of shares, SciPy's bootstrap beside those of correlations, Student's t by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchrunner.errors import Undefined
from benchrunner.metrics import Metric
from benchrunner.metrics.metric import ACCURACY
from benchrunner.studies.intervals import Interval, restart_interval
from benchrunner_statistics import example_interval
from benchrunner_statistics.scored_answers import ScoredAnswers
from benchrunner_tasks import MATTHEWS, PEARSON, SPEARMAN, f1

F1 = f1("yes")


@pytest.mark.parametrize("right", [0, 12, 59, 60])
def test_the_interval_of_an_accuracy_is_exact(right: int) -> None:
    """Clopper and Pearson's for 60 rows; by the variance that divides by 59, they count as 59 unless it is 0."""
    interval = example_interval(ACCURACY, ["yes"] * 60, [["yes"] * right + ["no"] * (60 - right)])
    rows = 60 if right in (0, 60) else 59
    hits = right * rows / 60
    low = stats.beta.ppf(0.025, hits, rows - hits + 1) if right else 0.0
    high = stats.beta.ppf(0.975, hits + 1, rows - hits) if right < 60 else 1.0
    assert (interval.low, interval.high) == pytest.approx((low, high))


@pytest.mark.parametrize("metric", [F1, MATTHEWS], ids=["f1", "matthews"])
def test_a_perfect_score_of_few_hits_has_a_wide_interval(metric: Metric) -> None:
    """100 rows of which 8 are hits say less about F1 and Matthews' correlation than 100 of which 50 are."""
    widths = []
    for hits in (8, 50):
        gold = ["yes"] * hits + ["no"] * (100 - hits)
        interval = example_interval(metric, gold, [gold])
        assert interval.high == pytest.approx(1.0)
        widths.append(1 - interval.low)
    assert widths[0] > 2 * widths[1]


@pytest.mark.parametrize("metric", [PEARSON, SPEARMAN], ids=["pearson", "spearman"])
def test_the_interval_of_a_correlation_is_near_scipys_bootstrap(metric: Metric) -> None:
    generator = np.random.default_rng(0)
    gold = generator.normal(size=200)
    answers = gold + generator.exponential(size=200)
    expected = stats.bootstrap(
        (gold, answers),
        lambda first, second: metric.value(first.tolist(), second.tolist()),
        paired=True,
        vectorized=False,
        n_resamples=2_000,
        method="BCa",
        rng=generator,
    ).confidence_interval
    interval = example_interval(metric, gold.tolist(), [answers.tolist()])
    assert (interval.low, interval.high) == pytest.approx(tuple(expected), abs=0.02)


def test_the_interval_of_an_error_is_students_of_its_logarithm() -> None:
    values = np.random.default_rng(0).exponential(size=30)
    losses = Metric.of_rows("loss", lambda gold, value: value, scale=1.0, lower_is_better=True)
    interval = example_interval(losses, [0] * 30, [values.tolist()])
    half = stats.t.ppf(0.975, 29) * values.std(ddof=1) / 30**0.5 / values.mean()
    assert np.log([interval.low, interval.high]) == pytest.approx(np.log(values.mean()) + np.array([-half, half]))


def test_restarts_that_err_on_different_rows_tell_more() -> None:
    gold = ["yes"] * 20
    right_then_wrong = ["yes", "no"] * 10
    one = example_interval(ACCURACY, gold, [right_then_wrong])
    two = example_interval(ACCURACY, gold, [["yes"] * 15 + ["no"] * 5, ["no"] * 5 + ["yes"] * 15])
    assert two.high - two.low < one.high - one.low


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
    fast, interval = (example_interval(metric, gold, [answers]) for metric in (ACCURACY, slow))
    assert (fast.low, fast.high) == pytest.approx((interval.low, interval.high))


def test_a_score_that_hangs_on_one_row_has_no_interval() -> None:
    with pytest.raises(Undefined, match="pearson has no value without some of the rows"):
        example_interval(PEARSON, [1, 1, 1, 2], [[1, 2, 3, 4]])


def test_answers_are_exchanged_between_rows_of_the_same_form() -> None:
    """The second sentence has the same tags, and the third another length, so that the fourth gets the first's."""
    gold = [["O", "B"], ["O", "B"], ["O"], ["B", "O"]]
    scored = ScoredAnswers(Metric("tags", lambda gold, answers: 1.0), gold, list("abcd"))
    assert scored.exchanged.answers == list("dbca")
    assert replace(scored, gold=gold[:2], answers=["a", "b"]).exchanged.answers == ["a", "b"]
