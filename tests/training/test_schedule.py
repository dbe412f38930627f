"""The units and the learning rate of each step."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies
from transformers import get_linear_schedule_with_warmup, get_scheduler

from benchrunner.parameters.recipes import RECIPE_FIELDS, Recipe
from benchrunner.training.schedule import Schedule, counted_steps


@settings(deadline=None)
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


@settings(deadline=None)
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


@settings(deadline=None)
@given(
    strategies.lists(strategies.integers(1, 5), min_size=1, max_size=30),
    strategies.integers(1, 3),
    strategies.integers(1, 40),
)
def test_max_steps_takes_the_first_batches_of_the_epochs(counts: list[int], epochs: int, most: int) -> None:
    recipe = Recipe(batch_size=3, epochs=epochs)
    whole = Schedule(np.array(counts), recipe, seed=1)
    short = Schedule(np.array(counts), recipe.changed(max_steps=most), seed=1)
    assert short.steps == min(most, whole.steps)
    for step in range(short.steps):
        assert np.array_equal(short.batch(step), whole.batch(step))


def test_the_schedule_ends_with_max_steps() -> None:
    short = fit_schedule(50, epochs=4, max_steps=20, warmup=0.1)
    assert [short.lr(step) for step in range(20)] == [fit_schedule(20, warmup=0.1).lr(step) for step in range(20)]


def test_a_fit_that_stops_has_the_rates_of_the_whole() -> None:
    whole = fit_schedule(50, warmup=0.1)
    stopped = fit_schedule(50, warmup=0.1, stop_at=20)
    assert stopped.steps == 20 == stopped.free_steps
    assert [stopped.lr(step) for step in range(20)] == [whole.lr(step) for step in range(20)]
    assert fit_schedule(50, stop_at=90).steps == 50


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


THEIRS: dict[str, tuple[str, dict[str, Any]]] = {
    "after-warmup": ("linear", {}),
    "cosine": ("cosine_with_min_lr", {"min_lr_rate": 0.0}),
    "constant": ("constant_with_warmup", {}),
    "inverse-sqrt": ("inverse_sqrt", {}),
    "trapezoid": ("warmup_stable_decay", {"num_decay_steps": 15, "decay_type": "linear"}),
}
"""Schedule -> the name and the arguments of transformers' schedule of the same kind."""


def scheduler_rates(name: str, warmup: int, steps: int, **arguments: Any) -> list[float]:
    """Take the rates of steps from transformers, for a peak of 3e-5."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=3e-5)
    scheduler, rates = get_scheduler(name, optimizer, warmup, steps, arguments), []
    for _ in range(steps):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize("schedule", THEIRS)
@pytest.mark.parametrize(("warmup", "warmup_steps"), [(0.0, 0), (0.1, 6), (7, 7), (50, 50), (1, 60), (100, 100)])
def test_schedules_are_those_of_transformers(schedule: str, warmup: float, warmup_steps: int) -> None:
    name, arguments = THEIRS[schedule]
    theirs = scheduler_rates(name, warmup_steps, 60, **arguments)
    ours = fit_schedule(60, lr=3e-5, schedule=schedule, warmup=warmup, cooldown=0.25)
    np.testing.assert_allclose([ours.lr(step) for step in range(60)], theirs, rtol=1e-12, atol=1e-20)


def test_every_schedule_is_compared_with_an_independent_one() -> None:
    assert {"released", *THEIRS} == set(RECIPE_FIELDS["schedule"].choices)


def test_a_cosine_and_a_trapezoid_end_at_the_final_share() -> None:
    for schedule, name, arguments in (
        ("cosine", "cosine_with_min_lr", {"min_lr_rate": 0.1}),
        ("trapezoid", "warmup_stable_decay", {"num_decay_steps": 12, "decay_type": "linear", "min_lr_ratio": 0.1}),
    ):
        ours = fit_schedule(60, lr=3e-5, schedule=schedule, warmup=9, cooldown=12, final_share=0.1)
        theirs = scheduler_rates(name, 9, 60, **arguments)
        np.testing.assert_allclose([ours.lr(step) for step in range(9, 60)], theirs[9:], rtol=1e-12)


@pytest.mark.parametrize("schedule", RECIPE_FIELDS["schedule"].choices)
def test_a_final_share_of_one_keeps_the_peak_after_warm_up(schedule: str) -> None:
    ours = fit_schedule(40, lr=3e-5, final_share=1.0, schedule=schedule)
    theirs = scheduler_rates("constant_with_warmup", 4, 40)
    assert [ours.lr(step) for step in range(40)] == pytest.approx(theirs, rel=1e-12)


def equal_rates(short: Schedule, long: Schedule) -> int:
    """Count the first steps that have the same rate in both schedules."""
    for step in range(short.steps):
        if short.lr(step) != long.lr(step):
            return step
    return short.steps


@settings(deadline=None)
@given(
    strategies.sampled_from(RECIPE_FIELDS["schedule"].choices),
    strategies.sampled_from([0.0, 0.1, 1.0, 5.0, 12.0, 90.0]),
    strategies.sampled_from([0.0, 0.25, 1.0, 6.0, 90.0]),
    strategies.sampled_from([0.0, 0.3, 1.0]),
)
def test_free_steps_keep_their_rates_in_a_longer_fit(
    schedule: str, warmup: float, cooldown: float, final_share: float
) -> None:
    values = {"schedule": schedule, "warmup": warmup, "cooldown": cooldown, "final_share": final_share}
    short = fit_schedule(20, **values)
    equal = min(equal_rates(short, fit_schedule(steps, **values)) for steps in (20, 21, 37, 400))
    assert short.free_steps <= equal
    if short.recipe.has_free_steps and warmup < short.free_steps:  # where decay begins, a step may be equal by chance
        assert equal <= short.free_steps + 1


@pytest.mark.parametrize(
    ("values", "free"),
    [
        ({"schedule": "constant", "warmup": 5}, 20),
        ({"schedule": "inverse-sqrt", "warmup": 0.0}, 20),
        ({"schedule": "constant", "warmup": 0.1}, 0),
        ({"schedule": "trapezoid", "warmup": 5, "cooldown": 0.25}, 15),
        ({"schedule": "trapezoid", "warmup": 5, "cooldown": 8}, 12),
        ({"schedule": "cosine", "warmup": 5}, 0),
        ({"schedule": "released", "warmup": 50}, 0),
        ({"schedule": "trapezoid", "warmup": 5, "cooldown": 90}, 0),
        ({"schedule": "constant", "warmup": 5, "loss_divisor": "mean-words"}, 0),
        ({}, 0),
    ],
)
def test_free_steps_are_those_before_the_decay(values: dict[str, Any], free: int) -> None:
    assert fit_schedule(20, **values).free_steps == free


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


def test_up_to_one_is_a_share_rounded_down_above_a_number() -> None:
    assert 100 * 0.29 < 29, "the product of floating-point numbers misses the whole number"
    shares = ((30, 0.1), (100, 0.29), (19, 0.1), (8, 1.0), (8, 2.0), (8, 500.0))
    assert [counted_steps(*share) for share in shares] == [3, 29, 1, 8, 2, 500]
    assert [counted_steps(steps, 0.1) for steps in range(2000)] == [int(steps * 0.1) for steps in range(2000)]
    assert counted_steps(1_000_000, 1e-05) == 10


def test_decay_of_a_weight_without_gradient_is_computed_ahead() -> None:
    schedule = Schedule(
        np.ones(4, dtype=np.int64), Recipe(lr=0.5, batch_size=1, epochs=1, warmup=0.5, weight_decay=0.1), seed=0
    )
    assert schedule.decay_without_gradient() == pytest.approx(1 * 0.975 * 0.975 * 0.9875)
