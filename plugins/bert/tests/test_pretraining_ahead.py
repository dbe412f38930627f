"""Instances that a thread makes ahead: the same, in the same steps, and no thread is left behind."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

pytest.importorskip("deepspeed", reason="pre-training needs benchrunner-bert's extra 'pretrain'")

from pretraining_runs import STOPPING, environment, learned, weights, words

import forked
from benchrunner_bert.pretraining.training.ahead import Ahead

IN_THREAD = f"""
from benchrunner_bert.pretraining.training import loop
made = loop.Ahead
loop.Ahead = lambda make, steps, *, in_thread: made(make, steps, in_thread=True)
{STOPPING}
"""
"""Runs a command line as on an accelerator; a signal stops it after a step."""


def run(folder: Path, out: str, *, stop: int = 0, number: int = signal.SIGKILL, code: str = IN_THREAD) -> int:
    asked = words(folder, out, "--checkpoint-steps", "2", steps=8)
    arguments = ["-c", code, str(stop), str(int(number)), *asked[1:]]
    return forked.Process(arguments, env=environment()).wait()


def test_a_value_is_made_once_for_each_step() -> None:
    made = list[tuple[int, str]]()

    def make(step: int) -> int:
        made.append((step, threading.current_thread().name.split("_")[0]))
        return 10 * step

    with Ahead(make, 6, in_thread=True) as ahead:
        assert [ahead.of(step) for step in range(2, 6)] == [20, 30, 40, 50]
    assert made == [(2, "MainThread"), *((step, "next step") for step in range(3, 6))], "none after the last step"
    with Ahead(make, 6, in_thread=False) as ahead:
        assert ahead.of(0) == 0
    assert made[-1] == (0, "MainThread")
    assert not any(thread.name.startswith("next step") for thread in threading.enumerate())


def test_an_error_of_the_thread_is_raised_in_its_step() -> None:
    def make(step: int) -> int:
        if step == 1:
            raise OSError("the disk is gone")
        return step

    with Ahead(make, 3, in_thread=True) as ahead:
        assert ahead.of(0) == 0
        with pytest.raises(OSError, match="the disk is gone"):
            ahead.of(1)


def test_runs_with_instances_made_ahead_have_the_same_bits(tmp_path: Path) -> None:
    """Also after a kill and after Ctrl-C, from the step that each left."""
    assert run(tmp_path, "plain", code=IN_THREAD.replace("in_thread=True", "in_thread=False")) == 0
    assert run(tmp_path, "killed", stop=5) == -signal.SIGKILL
    assert run(tmp_path, "killed") == 0
    assert run(tmp_path, "stopped", stop=3, number=signal.SIGINT) == 130
    assert run(tmp_path, "stopped") == 0
    assert len({weights(tmp_path / name) for name in ("plain", "killed", "stopped")}) == 1
    assert learned(tmp_path / "killed") == learned(tmp_path / "plain") == learned(tmp_path / "stopped")
