"""Time left: what is left of the work, at the speed of this process."""

import pytest

from benchrunner.fits.time_left import TimeLeft
from benchrunner.results import Fit
from made_runs import made_fit


class Clock:
    """A clock that tests set."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds


def run(left: TimeLeft, clock: Clock, *fits: Fit, seconds: float, steps: range = range(1, 101)) -> None:
    """Run whole fits at the same time, whose steps take equally long."""
    for step in steps:
        clock.wait(seconds / len(steps))
        for fit in fits:
            left.advance(fit, step, 100)
    for fit in fits:
        left.finish(fit)


FITS = [made_fit(seed=seed) for seed in range(4)]


def test_nothing_is_said_before_a_step_was_measured() -> None:
    left = TimeLeft([(fit, 10.0) for fit in FITS], Clock())
    assert (left.seconds, left.share) == (None, 0.0)
    left.finish(FITS[0])  # by an earlier process
    left.advance(FITS[1], 1, 100)
    assert left.seconds is None


def test_time_is_left_in_proportion_to_work() -> None:
    clock = Clock()
    left = TimeLeft([(FITS[0], 10.0), (FITS[1], 30.0)], clock)
    run(left, clock, FITS[0], seconds=30.0)
    assert (left.seconds, left.share) == (pytest.approx(90.0, rel=0.02), pytest.approx(0.25))


def test_the_end_of_a_fit_takes_time_too() -> None:
    clock = Clock()
    left = TimeLeft([(FITS[0], 10.0)], clock)
    for step in range(1, 11):
        left.advance(FITS[0], step, 10)
        clock.wait(1.0)
    assert left.share == pytest.approx(0.99) and left.seconds
    left.finish(FITS[0])
    assert (left.seconds, left.share) == (0.0, 1.0)


def test_steps_of_an_earlier_process_cost_nothing_now() -> None:
    clock = Clock()
    left = TimeLeft([(fit, 10.0) for fit in FITS[:2]], clock)
    run(left, clock, FITS[0], seconds=10.0, steps=range(91, 101))
    assert left.seconds == pytest.approx(100.0, rel=0.12)


def test_fits_at_the_same_time_share_the_time_left() -> None:
    clock = Clock()
    left = TimeLeft([(fit, 10.0) for fit in FITS], clock)
    run(left, clock, *FITS[:2], seconds=30.0)
    assert left.seconds == pytest.approx(30.0, rel=0.02), "two at once, so that two more take as long as one"
