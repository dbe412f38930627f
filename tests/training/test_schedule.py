"""The units and the learning rate of each step."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, strategies
from transformers import get_constant_schedule_with_warmup, get_linear_schedule_with_warmup

from benchrunner.parameters.recipes import RECIPE_FIELDS, Recipe
from benchrunner.training.schedule import Schedule, warmup_steps


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
def test_weighted_units_occur_once_and_batches_have_the_size(counts: list[int], batch_size: int, epochs: int) -> None:
    schedule = Schedule(np.array(counts), Recipe(batch_size=batch_size, epochs=epochs), seed=1)
    for epoch in range(epochs):
        steps = range(schedule.first_steps[epoch], schedule.first_steps[epoch + 1])
        batches = [schedule.batch(step).tolist() for step in steps]
        assert sorted(unit for batch in batches for unit in batch) == list(range(len(counts)))
        assert len(batches) <= math.ceil(sum(counts) / batch_size) + 1
        assert all(np.take(counts, batch[:-1]).sum() <= batch_size + max(counts) for batch in batches)
    assert schedule.steps == schedule.first_steps[-1]


def test_each_epoch_has_its_own_order() -> None:
    schedule, copy = (Schedule(np.ones(40, dtype=np.int64), Recipe(batch_size=40), seed=1) for _ in range(2))
    first, second = schedule.batch(0), schedule.batch(1)
    assert not np.array_equal(first, second)
    assert np.array_equal(copy.batch(1), second) and np.array_equal(copy.batch(0), first)
    assert not np.array_equal(Schedule(np.ones(40, dtype=np.int64), Recipe(batch_size=40), seed=2).batch(0), first)


def released_lr(step: int, steps: int, warmup: int) -> Fraction:
    """Compute the learning rate of the released code (optimization.py of BERT) exactly, for a peak of 1.

    The code computes a polynomial decay of power 1 to an end rate of 0. Up to the last warm-up step, the code takes the
    share of warm-up steps that are done instead.
    """
    start, end = Fraction(1), Fraction(0)
    decayed = (start - end) * (1 - Fraction(min(step, steps), steps)) ** 1 + end
    is_warmup = int(step < warmup)
    return (1 - is_warmup) * decayed + is_warmup * Fraction(step, warmup or 1)


def fit_schedule(steps: int, **values: Any) -> Schedule:
    """Plan a fit of one epoch, in batches of one unit."""
    return Schedule(np.ones(steps, dtype=np.int64), Recipe(**{"batch_size": 1, "epochs": 1, **values}), seed=0)


@pytest.mark.parametrize(("steps", "warmup"), [(7, 0), (30, 3), (345, 34), (1000, 100)])
def test_every_rate_of_a_fit_is_the_released_codes(steps: int, warmup: int) -> None:
    schedule = fit_schedule(steps, lr=3e-5)
    assert (schedule.steps, schedule.warmup) == (steps, warmup)
    expected = [float(Fraction(3, 100_000) * released_lr(step, steps, warmup)) for step in range(steps)]
    np.testing.assert_allclose([schedule.lr(step) for step in range(steps)], expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("schedule", RECIPE_FIELDS["schedule"].choices)
def test_a_final_share_of_one_keeps_the_peak_after_warm_up(schedule: str) -> None:
    theirs = get_constant_schedule_with_warmup(torch.optim.SGD([torch.zeros(1)], lr=3e-5), 4)
    ours = fit_schedule(40, lr=3e-5, final_share=1.0, schedule=schedule)
    for step in range(40):
        assert ours.lr(step) == pytest.approx(theirs.get_last_lr()[0], rel=1e-12)
        theirs.optimizer.step()
        theirs.step()


def test_the_decay_ends_at_the_final_share() -> None:
    """The rates are those of a polynomial decay of power 1 with an end rate, worked out by hand."""
    ours = fit_schedule(10, lr=2.0, final_share=0.25, warmup=0.2)
    assert [ours.lr(step) for step in (0, 1, 2, 5, 9)] == pytest.approx([0.0, 1.0, 1.7, 1.25, 0.65])
    assert [fit_schedule(10, lr=2.0).lr(step) for step in (1, 9)] == [2.0 * 0.9, 2.0 * 0.1]


def transformers_rates(steps: int, warmup: int) -> list[float]:
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=2.0)
    scheduler, rates = get_linear_schedule_with_warmup(optimizer, warmup, steps), []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize("steps", [7, 30, 345, 1000])
def test_rates_equal_transformers_where_the_formulas_agree(steps: int) -> None:
    after, released = (fit_schedule(steps, lr=2.0, schedule=name) for name in ("after-warmup", "released"))
    theirs = np.array(transformers_rates(steps, after.warmup))
    np.testing.assert_allclose([after.lr(step) for step in range(steps)], theirs, rtol=1e-14, atol=0)
    ours = np.array([released.lr(step) for step in range(steps)])
    np.testing.assert_allclose(ours[: after.warmup], theirs[: after.warmup], rtol=1e-14, atol=0)
    # After warm-up, transformers' rate is higher by one factor: 1.111 if warm-up is a tenth of the steps.
    factor = steps / (steps - after.warmup)
    np.testing.assert_allclose(theirs[after.warmup :], ours[after.warmup :] * factor, rtol=1e-12, atol=0)
    flat = fit_schedule(steps, lr=2.0, warmup=0.0)
    np.testing.assert_allclose([flat.lr(step) for step in range(steps)], transformers_rates(steps, 0), rtol=1e-14)


def test_the_rate_rises_in_all_steps_if_all_are_warm_up() -> None:
    for name in RECIPE_FIELDS["schedule"].choices:
        assert [fit_schedule(4, lr=8.0, warmup=1.0, schedule=name).lr(step) for step in range(4)] == [0, 2, 4, 6]


def test_warm_up_rounds_the_written_share_down() -> None:
    assert 100 * 0.29 < 29, "the product of floating-point numbers misses the whole number"
    assert [warmup_steps(30, 0.1), warmup_steps(100, 0.29), warmup_steps(19, 0.1), warmup_steps(8, 1.0)] == [
        3,
        29,
        1,
        8,
    ]
    assert [warmup_steps(steps, 0.1) for steps in range(2000)] == [int(steps * 0.1) for steps in range(2000)]
    assert warmup_steps(1_000_000, 1e-05) == 10


def test_decay_of_a_weight_without_gradient_is_computed_ahead() -> None:
    schedule = Schedule(
        np.ones(4, dtype=np.int64), Recipe(lr=0.5, batch_size=1, epochs=1, warmup=0.5, weight_decay=0.1), seed=0
    )
    assert schedule.decay_without_gradient() == pytest.approx(1 * 0.975 * 0.975 * 0.9875)
