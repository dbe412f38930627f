"""Tests between arms of several pre-trainings: by hand, by simulation, and what a single pre-training can tell."""

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchrunner.errors import RequestError
from benchrunner_statistics import arms_test, paired_test
from benchrunner_tasks import MATTHEWS

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
Answers = list[list[list[int]]]


def arm(seed: int, pre_trainings: int, restarts: int, right: float = 0.8, rows: int = 40) -> Answers:
    """Draw an arm's answers to rows whose gold is 1."""
    return (np.random.default_rng(seed).random((pre_trainings, restarts, rows)) < right).astype(int).tolist()


@pytest.mark.parametrize("counts", [(3, 3), (2, 4)], ids=["equal", "unequal"])
def test_arms_by_hand(counts: tuple[int, int]) -> None:
    """Compute both parts of the variance from the means of pre-trainings, with loops over rows."""
    a, b = arm(1, counts[0], 2, 0.9), arm(2, counts[1], 3, 0.6)
    means = [np.mean(side, axis=1) for side in (a, b)]  # (pre-trainings, rows)
    interaction = 0.0
    for side in means:
        total = 0.0
        for number in range(len(side)):
            for row in range(40):
                rest = side[number, row] - side[number].mean() - side[:, row].mean() + side.mean()
                total += rest**2
        interaction += total / ((len(side) - 1) * 39) / (len(side) * 40)
    of_rows = np.var(means[0].mean(axis=0) - means[1].mean(axis=0), ddof=1) / 40 - interaction
    of_a, of_b = (np.var(side.mean(axis=1), ddof=1) / len(side) for side in means)
    if counts[0] == counts[1]:
        freedom = math.floor((of_a + of_b) ** 2 / (of_a**2 / 2 + of_b**2 / 2))
        squares = stats.t.ppf(0.975, freedom) ** 2 * (of_a + of_b)
    else:
        squares = stats.t.ppf(0.975, 1) ** 2 * of_a + stats.t.ppf(0.975, 3) ** 2 * of_b
    fits = [restart for pre_training in (*a, *b) for restart in pre_training]
    differing = sum(len({*answers}) > 1 for answers in zip(*fits, strict=True))
    half = math.sqrt(squares + stats.t.ppf(0.975, differing - 1) ** 2 * max(0.0, of_rows))
    difference = means[0].mean() - means[1].mean()
    comparison = arms_test("accuracy", [1] * 40, a, b)
    assert (comparison.method, comparison.claim) == ("rows and pre-trainings", "arms")
    assert (comparison.pre_trainings, comparison.restarts) == (counts, (2 * counts[0], 3 * counts[1]))
    assert (comparison.low, comparison.high) == pytest.approx((difference - half, difference + half))


def test_single_restarts_of_pre_trainings_are_draws() -> None:
    a, b = arm(1, 3, 1), arm(2, 3, 1, 0.6)
    comparison = arms_test("accuracy", [1] * 40, a, b)
    flat = paired_test("accuracy", [1] * 40, [pre[0] for pre in a], [pre[0] for pre in b])
    assert (comparison.low, comparison.p) == (flat.low, flat.p)
    assert (comparison.claim, flat.claim) == ("arms", "backbones")


def test_a_single_pre_training_is_a_backbone() -> None:
    gold = np.random.default_rng(0).integers(0, 2, 40).tolist()
    [a], [b] = arm(1, 1, 3), arm(2, 1, 3, 0.6)
    assert arms_test(MATTHEWS, gold, [a], [b]) == paired_test(MATTHEWS, gold, a, b)
    several = arms_test(MATTHEWS, gold, arm(3, 4, 2), [b])
    assert (several.claim, several.pre_trainings, several.restarts) == ("backbones", (4, 1), (8, 3))


def test_pre_trainings_with_unequal_restarts_count_alike() -> None:
    gold = [1] * 40
    a, b = [*arm(1, 1, 5, 1.0), *arm(1, 1, 1, 0.0)], arm(2, 2, 2, 0.5)
    share = np.mean(b)
    assert arms_test("accuracy", gold, a, b).difference == pytest.approx(0.5 - share)


@pytest.mark.parametrize(
    ("a", "message"),
    [
        ([], "a is empty: give a list for each pre-training"),
        ([[]], r"a\[0\] is empty: give a list of answer lists"),
        ([[1, 0]], r"a\[0\] is a list of answer lists, one for each restart, but a\[0\]\[0\] is 1"),
    ],
)
def test_wrong_arms_are_named(a: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        arms_test("accuracy", [1, 0], a, [[[1, 0]]])


@pytest.fixture
def designs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import statistics_designs

    yield statistics_designs
    for name in ("statistics_designs", "statistics_simulation"):
        sys.modules.pop(name)


@pytest.mark.parametrize("ratio", [0.0, 3.0])
def test_equal_arms_are_rarely_told_apart(ratio: float, designs: Any) -> None:
    rate, _ = designs.arm_rejections(designs.KINDS_HERE[0], designs.ArmDesign(3, 2, ratio), count=60)
    assert rate.share <= rate.limit


def test_one_pre_training_of_each_says_nothing_of_arms(designs: Any) -> None:
    """The test of two backbones is right about these, which truly differ, and would be wrong about their arms."""
    _, rate = designs.arm_rejections(designs.KINDS_HERE[0], designs.ArmDesign(2, 3, 3.0), count=50)
    assert rate.share > 0.15


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("ratio", [0.0, 1.0, 3.0])
def test_no_arms_are_told_apart_too_often(ratio: float, designs: Any) -> None:
    """At most 5 % and two standard errors of 2,000 studies."""
    for numbers in designs.ARMS:
        rate, _ = designs.arm_rejections(designs.KINDS_HERE[0], designs.ArmDesign(*numbers, ratio), count=2_000)
        assert rate.share <= rate.limit, numbers
