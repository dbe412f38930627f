"""The figures of speed in a run's log."""

from __future__ import annotations

import time
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from benchrunner_bert.configuration import Configuration
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.flops import step_flops
from benchrunner_bert.pretraining.training.log_window import LogWindow
from benchrunner_bert.pretraining.training.sums import Sums

CONFIG = Configuration.of_size("2/128", 1000)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def window(*, world: int, batch_size: int, pending: tuple[float, ...] = ()) -> Any:
    engine: Any = SimpleNamespace(device=torch.device("cpu"), world=world)
    model: Any = SimpleNamespace(step_flops=partial(step_flops, CONFIG))
    return LogWindow(Settings(steps=100, batch_size=batch_size), model, engine, pending)


def sums(tokens: int, pairs: int) -> Sums:
    return Sums(*(torch.tensor(float(one)) for one in (2.0 * tokens, tokens, 1, 0.7 * pairs, pairs, 1)))


def test_rates_are_scaled_from_one_process_to_the_whole_batch(clock: list[float]) -> None:
    """Of five sequences on four processes the first has two, the others one each."""
    found = window(world=4, batch_size=5)
    found.add(sums(10, 5), np.array([100, 100]))
    clock[0] += 2.0
    figures = found.figures(1)
    assert figures["sequences_per_second"] == 2.5
    assert figures["tokens_per_second"] == 250.0
    wanted = step_flops(CONFIG, np.array([100] * 5), 10, next_sentence=True)
    assert figures["flops_per_second"] == pytest.approx(wanted / 2.0)
    assert figures["seconds_left"] == pytest.approx(99 * 2.0)


def test_seconds_that_were_not_spent_on_learning_do_not_count(clock: list[float]) -> None:
    found = window(world=1, batch_size=2)
    clock[0] += 30.0
    found.leave_out(30.0)  # a look at held-out text, a checkpoint
    found.add(sums(10, 0), np.array([50, 50]))
    clock[0] += 1.0
    figures = found.figures(1)
    assert (figures["sequences_per_second"], figures["tokens_per_second"]) == (2.0, 100.0)


def test_losses_include_steps_before_a_restart_and_rates_do_not(clock: list[float]) -> None:
    """Three tokens were predicted before the process began, ten since."""
    earlier = window(world=1, batch_size=2)
    assert earlier.pending == ()
    earlier.add(sums(3, 2), np.array([50, 50]))
    found = window(world=1, batch_size=2, pending=earlier.pending)
    found.add(sums(10, 2)._replace(mlm_loss=torch.tensor(59.0)), np.array([50, 50]))
    clock[0] += 2.0
    figures = found.figures(2)
    assert figures["mlm_loss"] == pytest.approx((2.0 * 3 + 59.0) / 13)
    assert (figures["sequences_per_second"], figures["tokens_per_second"]) == (1.0, 50.0)
    wanted = step_flops(CONFIG, np.array([50] * 2), 10, next_sentence=True)
    assert figures["flops_per_second"] == pytest.approx(wanted / 2.0)
    assert found.pending == ()
