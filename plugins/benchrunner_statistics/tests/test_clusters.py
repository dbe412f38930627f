"""Rows in clusters, such as the questions about one article: the cluster is what varies, not the row."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchrunner.errors import RequestError, Undefined
from benchrunner.metrics import Metric
from benchrunner.metrics.metric import ACCURACY
from benchrunner_statistics import example_interval, paired_test
from benchrunner_tasks import MATTHEWS

SIZES = (3, 5, 2, 7, 4, 9)
IDS = [f"article {number}" for number, size in enumerate(SIZES) for _ in range(size)]


def drawn(seed: int, right: float = 0.7, rows: int = len(IDS)) -> list[int]:
    return (np.random.default_rng(seed).random(rows) < right).astype(int).tolist()


def differences_without_each_cluster(a: np.ndarray, b: np.ndarray) -> list[float]:
    ids = np.array(IDS)
    return [float((a - b)[ids != name].mean()) for name in dict.fromkeys(IDS)]


def test_several_restarts_leave_out_each_cluster_in_turn() -> None:
    """With answers that do not change between restarts, only the jackknife over clusters remains."""
    gold = [1] * len(IDS)
    a, b = drawn(1), drawn(2, 0.4)
    comparison = paired_test("accuracy", gold, [a, a], [b, b], clusters=IDS)
    without = differences_without_each_cluster(np.array(a), np.array(b))
    error = np.sqrt((len(SIZES) - 1) / len(SIZES) * np.sum((without - np.mean(without)) ** 2))
    differing = np.unique([name for name, x, y in zip(IDS, a, b, strict=True) if x != y], return_counts=True)[1]
    freedom = max(1.0, differing.sum() ** 2 / (differing**2).sum() - 1)
    half = stats.t.ppf(0.975, freedom) * error
    assert comparison.high - comparison.difference == pytest.approx(half)


@pytest.mark.parametrize("metric", [ACCURACY, MATTHEWS, Metric("slow", MATTHEWS.compute)], ids=lambda one: one.name)
def test_two_fits_swap_the_answers_of_whole_clusters(metric: Metric) -> None:
    gold, a, b = drawn(0, 0.5), drawn(1), drawn(2, 0.4)
    differences = []
    for swaps in itertools.product([False, True], repeat=len(SIZES)):
        swapped = np.repeat(swaps, SIZES)
        first, second = np.where(swapped, b, a).tolist(), np.where(swapped, a, b).tolist()
        differences.append(metric.value(gold, first) - metric.value(gold, second))
    shares = [np.mean(np.array(differences) * sign >= differences[0] * sign - 1e-12) for sign in (1, -1)]
    comparison = paired_test(metric, gold, [a], [b], clusters=IDS)
    assert comparison.method == "permutation"
    assert comparison.p == pytest.approx(min(1.0, 2 * min(shares)))


def test_four_clusters_never_prove_a_difference_of_two_fits() -> None:
    gold, ids = [1] * 400, np.repeat(range(4), 100).tolist()
    assert paired_test("accuracy", gold, [[1] * 400], [[0] * 400]).p < 1e-9
    assert paired_test("accuracy", gold, [[1] * 400], [[0] * 400], clusters=ids).p == pytest.approx(2 / 2**4)


def test_clusters_of_one_row_are_rows() -> None:
    gold, a, b = drawn(0), [drawn(1), drawn(2)], [drawn(3, 0.5), drawn(4, 0.5)]
    assert paired_test("accuracy", gold, a, b, clusters=range(30)) == paired_test("accuracy", gold, a, b)
    assert example_interval("accuracy", gold, a, clusters=range(30)) == example_interval("accuracy", gold, a)


def test_an_interval_of_clusters_is_that_of_fewer_rows() -> None:
    """As many independent rows as have the same error, less for an error from few clusters (Korn and Graubard 1998)."""
    rows, answers = len(IDS), drawn(5)
    without = differences_without_each_cluster(np.array(answers), np.zeros(rows))
    variance = (len(SIZES) - 1) / len(SIZES) * np.sum((without - np.mean(without)) ** 2)
    freedom = sum(SIZES) ** 2 / sum(size**2 for size in SIZES) - 1
    share = np.mean(answers)
    size = share * (1 - share) / variance * (stats.t.ppf(0.975, rows - 1) / stats.t.ppf(0.975, freedom)) ** 2
    hits = share * size
    interval = example_interval("accuracy", [1] * rows, [answers], clusters=IDS)
    expected = (stats.beta.ppf(0.025, hits, size - hits + 1), stats.beta.ppf(0.975, hits + 1, size - hits))
    assert (interval.low, interval.high) == pytest.approx(expected)


def test_equal_answers_in_a_cluster_tell_as_much_as_one() -> None:
    of_clusters = drawn(6, rows=50)
    every = np.repeat(of_clusters, 8).tolist()
    ids = np.repeat(range(50), 8).tolist()
    interval = example_interval("accuracy", [1] * 400, [every], clusters=ids)
    of_rows = example_interval("accuracy", [1] * 50, [of_clusters])
    assert 1.0 < (interval.high - interval.low) / (of_rows.high - of_rows.low) < 1.04


def test_one_cluster_and_a_wrong_number_of_ids_are_errors() -> None:
    gold, a, b = [1, 1, 0], [[1, 0, 0]], [[1, 1, 1]]
    with pytest.raises(Undefined, match="there is only one cluster"):
        example_interval("accuracy", gold, a, clusters=["same"] * 3)
    with pytest.raises(RequestError, match="clusters has 2 ids for 3 rows"):
        paired_test("accuracy", gold, a, b, clusters=[1, 2])


def test_an_interval_of_few_clusters_ends_at_the_best_score() -> None:
    gold = ["a"] * 60
    predicted = ["b", *gold[1:]]
    clusters = [row // 20 for row in range(60)]
    interval = example_interval(ACCURACY, gold, [predicted], clusters=clusters)
    assert interval.low < 59 / 60 < interval.high == pytest.approx(1.0)
    few = example_interval(ACCURACY, gold, [[*"bbbb" * 10, *"aaaa" * 5]], clusters=clusters)
    assert few.low < 0.02 and few.high > 0.98
    points = replace(ACCURACY, scale=1.0)  # of other metrics nothing is known
    assert example_interval(points, gold, [predicted], clusters=clusters).high > 1.0
