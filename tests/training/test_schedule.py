"""The units and the learning rate of each step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies

from benchrunner.recipes import Recipe
from benchrunner.training.schedule import Schedule


@given(strategies.integers(1, 60), strategies.integers(1, 20), strategies.integers(1, 4))
def test_every_epoch_meets_every_unit_once(units: int, batch_size: int, epochs: int) -> None:
    schedule = Schedule(np.ones(units, dtype=np.int64), Recipe(batch_size=batch_size, epochs=epochs), seed=1)
    batches = [schedule.batch(step).tolist() for step in range(schedule.steps)]
    steps = math.ceil(units / batch_size)
    assert len(batches) == steps * epochs
    for epoch in range(epochs):
        in_epoch = batches[epoch * steps : (epoch + 1) * steps]
        assert sorted(unit for batch in in_epoch for unit in batch) == list(range(units))
    assert all(0 < len(batch) <= batch_size for batch in batches)


@given(
    strategies.lists(strategies.integers(0, 12), min_size=1, max_size=40).filter(any),
    strategies.integers(1, 10),
    strategies.integers(1, 3),
)
def test_weighted_units_occur_once_and_batches_average_the_size(
    counts: list[int], batch_size: int, epochs: int
) -> None:
    schedule = Schedule(np.array(counts), Recipe(batch_size=batch_size, epochs=epochs), seed=1)
    for epoch in range(epochs):
        steps = range(schedule.first_steps[epoch], schedule.first_steps[epoch + 1])
        batches = [schedule.batch(step).tolist() for step in steps]
        assert sorted(unit for batch in batches for unit in batch) == list(range(len(counts)))
        assert len(batches) <= math.ceil(sum(counts) / batch_size) + 1
        assert all(sum(counts[unit] for unit in batch[:-1]) <= batch_size + max(counts) for batch in batches)
    assert schedule.steps == schedule.first_steps[-1]


def test_each_epoch_has_its_own_order() -> None:
    schedule, copy = (Schedule(np.ones(40, dtype=np.int64), Recipe(batch_size=40), seed=1) for _ in range(2))
    first, second = schedule.batch(0), schedule.batch(1)
    assert not np.array_equal(first, second)
    assert np.array_equal(copy.batch(1), second) and np.array_equal(copy.batch(0), first)
    assert not np.array_equal(Schedule(np.ones(40, dtype=np.int64), Recipe(batch_size=40), seed=2).batch(0), first)


def test_the_rate_rises_over_the_warm_up_and_falls_to_zero() -> None:
    schedule = Schedule(np.ones(20, dtype=np.int64), Recipe(lr=8.0, batch_size=2, epochs=1, warmup=0.4), seed=0)
    assert [schedule.lr(step) for step in range(10)] == pytest.approx(
        [0, 2, 4, 6, *(8 * n / 6 for n in range(6, 0, -1))]
    )
    flat = Schedule(np.ones(4, dtype=np.int64), Recipe(lr=8.0, batch_size=1, epochs=1, warmup=0.0), seed=0)
    assert [flat.lr(step) for step in range(4)] == pytest.approx([8, 6, 4, 2])
    rising = Schedule(np.ones(4, dtype=np.int64), Recipe(lr=8.0, batch_size=1, epochs=1, warmup=1.0), seed=0)
    assert [rising.lr(step) for step in range(4)] == pytest.approx([0, 2, 4, 6])


def test_decay_of_a_weight_without_gradient_is_computed_ahead() -> None:
    schedule = Schedule(
        np.ones(4, dtype=np.int64), Recipe(lr=0.5, batch_size=1, epochs=1, warmup=0.5, weight_decay=0.1), seed=0
    )
    assert schedule.decay_without_gradient() == pytest.approx(1 * 0.975 * 0.95 * 0.975)
