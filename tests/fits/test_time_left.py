"""Time left: estimated from the seconds that fits took, in this process or before."""

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


def run(left: TimeLeft, clock: Clock, fit: Fit, seconds: float, *, steps: int = 10) -> None:
    """Run a whole fit whose steps take equally long."""
    left.begin(fit)
    for step in range(steps):
        clock.wait(seconds / steps)
        left.advance(fit, step + 1, steps)
    left.finish(fit)


FITS = [made_fit(seed=seed) for seed in range(4)]
LARGE = [made_fit(seed=seed, backbone="large", revision="large") for seed in range(4)]


def test_nothing_is_said_before_anything_was_measured() -> None:
    left = TimeLeft([(fit, 10.0) for fit in FITS], Clock())
    assert (left.seconds, left.share) == (None, 0.0)
    left.begin(FITS[0])
    assert left.seconds is None


def test_restarts_take_as_long_as_finished_ones() -> None:
    clock = Clock()
    left = TimeLeft([(fit, 10.0) for fit in FITS], clock)
    run(left, clock, FITS[0], 30.0)
    assert left.seconds == pytest.approx(90.0)
    assert left.share == pytest.approx(0.25)


def test_a_slower_backbone_is_known_by_its_own_fits() -> None:
    """With rows alone, six fits of equal work after two would be 2 x 33 s each: 198 s instead of 270 s."""
    clock = Clock()
    left = TimeLeft([(fit, 10.0) for fit in (*FITS, *LARGE)], clock)
    run(left, clock, FITS[0], 10.0)
    run(left, clock, LARGE[0], 80.0)
    assert left.seconds == pytest.approx(3 * 10 + 3 * 80)
    assert left.share == pytest.approx(90 / 360)


def test_a_fit_in_its_middle_counts_by_its_steps() -> None:
    clock = Clock()
    left = TimeLeft([(fit, 10.0) for fit in FITS[:2]], clock)
    left.begin(FITS[0])
    clock.wait(5.0)  # encoding, which the steps that are left do not repeat
    for step in range(50):
        clock.wait(1.0)
        left.advance(FITS[0], step + 1, 100)
    assert left.seconds == pytest.approx(150.0, rel=0.01)


def test_steps_of_an_earlier_process_cost_nothing_now() -> None:
    clock = Clock()
    left = TimeLeft([(fit, 10.0) for fit in FITS[:2]], clock)
    left.begin(FITS[0])
    for step in range(90, 100):
        clock.wait(1.0)
        left.advance(FITS[0], step + 1, 100)
    left.finish(FITS[0])
    assert left.seconds == pytest.approx(100.0)


def test_fits_at_the_same_time_share_the_time_left() -> None:
    clock = Clock()
    left = TimeLeft([(fit, 10.0) for fit in FITS], clock)
    for fit in FITS[:2]:
        left.begin(fit)
    for step in range(10):
        clock.wait(3.0)
        for fit in FITS[:2]:
            left.advance(fit, step + 1, 10)
    for fit in FITS[:2]:
        left.finish(fit)
    assert left.seconds == pytest.approx(30.0), "two at once, so that two more take as long as one"


def test_records_of_finished_fits_are_an_estimate_too() -> None:
    left = TimeLeft([(fit, 10.0) for fit in (*FITS, *LARGE)], Clock())
    left.finish(FITS[0], 12.0)
    left.finish(LARGE[0], 50.0)
    assert left.seconds == pytest.approx(3 * 12 + 3 * 50)


def test_what_runs_now_counts_more_than_records() -> None:
    clock = Clock()
    left = TimeLeft([(fit, 10.0) for fit in FITS], clock)
    left.finish(FITS[0], 1000.0)
    run(left, clock, FITS[1], 10.0)
    assert left.seconds == pytest.approx(20.0)


def test_tasks_that_were_not_measured_cost_like_others() -> None:
    clock = Clock()
    other = made_fit(task="mine/pairs", problem={"kind": "regress"})
    left = TimeLeft([(FITS[0], 10.0), (other, 30.0), (LARGE[0], 5.0)], clock)
    run(left, clock, FITS[0], 10.0)
    assert left.seconds == pytest.approx(35.0)


def test_all_done_leaves_nothing() -> None:
    clock = Clock()
    left = TimeLeft([(fit, 10.0) for fit in FITS], clock)
    for fit in FITS:
        run(left, clock, fit, 2.0)
    assert (left.seconds, left.share) == (0.0, 1.0)


def test_fits_that_a_search_leaves_out_do_not_count() -> None:
    clock = Clock()
    left = TimeLeft([(fit, 10.0) for fit in FITS], clock, most=2)
    run(left, clock, FITS[3], 30.0)
    assert (left.share, left.seconds) == (pytest.approx(0.5), pytest.approx(30.0))
