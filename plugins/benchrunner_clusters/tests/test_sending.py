"""Fits that are sent elsewhere: only unfinished ones, and none goes on after the study has stopped."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from benchrunner.results import Fit, Record, Runner
from benchrunner_clusters import Sender, send_fits
from inline import QUICK, runner


class InProcess(Sender):
    """Runs the fits in this process, and notes what it is asked for."""

    def __init__(self, made: Runner, mark: str) -> None:
        self.runner, self.sent, self.is_cancelled = made, list[Fit](), False
        self.mark = made.workspace.runs / mark

    def run(self, fits: Sequence[Fit]) -> Iterator[tuple[Fit, Record]]:
        assert self.mark.exists()
        for fit in fits:
            self.sent.append(fit)
            yield fit, self.runner.run(fit)

    def cancel(self) -> None:
        self.is_cancelled = True


def beginning(made: Runner, senders: list[InProcess]) -> Callable[[str], AbstractContextManager[Sender]]:
    """Return what makes a sender, and puts it into a list."""

    def begin(mark: str) -> AbstractContextManager[Sender]:
        senders.append(InProcess(made, mark))
        return nullcontext(senders[-1])

    return begin


@pytest.fixture
def made(tmp_path: Path) -> Runner:
    return runner(tmp_path)


@pytest.fixture
def fits(made: Runner) -> list[Fit]:
    recipes = [QUICK.changed(limit_train=rows) for rows in (4, 5, 6)]
    return [
        made.planner.plan(made.plugins.tasks.find("mood"), "", method="majority", recipe=recipe) for recipe in recipes
    ]


def test_only_unfinished_fits_are_sent(made: Runner, fits: list[Fit]) -> None:
    made.run(fits[1])
    senders: list[InProcess] = []
    assert [fit for fit, _ in send_fits(fits, made.fit_runner, beginning(made, senders))] == [fits[1], fits[0], fits[2]]
    (sender,) = senders
    assert sender.sent == [fits[0], fits[2]] and not sender.is_cancelled and not sender.mark.exists()
    assert len(list(send_fits(fits, made.fit_runner, beginning(made, senders)))) == 3
    assert len(senders) == 1, "nothing is begun for finished fits"


def test_sent_fits_are_cancelled_if_the_study_stops(made: Runner, fits: list[Fit]) -> None:
    senders: list[InProcess] = []
    records = send_fits(fits, made.fit_runner, beginning(made, senders))
    next(records)
    with pytest.raises(KeyboardInterrupt):
        records.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    (sender,) = senders
    assert sender.is_cancelled and sender.sent == fits[:1] and not sender.mark.exists()
