"""Simulated studies: tests find no more differences than 5 % where there is none, and intervals hold the truth."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
METRICS = ("accuracy", "f1", "matthews", "pearson", "span_f1")


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import statistics_simulation

    yield statistics_simulation
    sys.modules.pop("statistics_simulation")


@pytest.mark.parametrize("restarts", [1, 3])
def test_few_simulated_studies_find_no_difference(restarts: int, simulation: Any) -> None:
    [accuracy, *_] = simulation.KINDS
    rate = simulation.rejections(accuracy, restarts, seeds=simulation.null_seeds(restarts), count=100)
    assert rate.share <= rate.limit


def test_a_large_difference_is_found_in_simulated_studies(simulation: Any) -> None:
    [accuracy, *_] = simulation.KINDS
    assert simulation.rejections(accuracy, 5, seeds="none", gain=2 * accuracy.gain, count=20).share >= 0.9


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed_effect", [False, True], ids=["no-seed-effect", "seed-effect"])
@pytest.mark.parametrize("restarts", [1, 3, 5])
@pytest.mark.parametrize("name", METRICS)
def test_no_test_rejects_a_true_null_too_often(name: str, restarts: int, seed_effect: bool, simulation: Any) -> None:
    """At most 5 % and two standard errors of 2,000 studies."""
    [kind] = [kind for kind in simulation.KINDS if kind.metric.name == name]
    rate = simulation.rejections(kind, restarts, seeds=simulation.null_seeds(restarts) if seed_effect else "none")
    assert rate.studies == 2_000 and rate.share <= rate.limit


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", METRICS)
def test_intervals_over_examples_hold_the_true_score(name: str, simulation: Any) -> None:
    """In at least 92 % of 1,000 studies with 3 restarts, for intervals of 95 %."""
    [kind] = [kind for kind in simulation.KINDS if kind.metric.name == name]
    assert simulation.coverage(kind, 3, count=1_000).share >= 0.92
