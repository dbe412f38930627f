"""Commands with several devices per fit that are killed or stopped leave no process, and go on exactly."""

import os
import signal
from collections.abc import Callable, Iterator

import pytest
from fit_commands import Command

from benchrunner.results import find_run
from cluster_plugin import Home, results


@pytest.fixture
def command(home: Home) -> Iterator[Callable[..., Command]]:
    started: list[Command] = []

    def start(*words: str, session: bool = True) -> Command:
        started.append(Command(home, *words, "--devices-per-fit", "2", session=session))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        for other in each.others():
            os.kill(other, signal.SIGKILL)


def test_a_killed_leader_leaves_nothing_and_goes_on(home: Home, command: Callable[..., Command]) -> None:
    killed = command("killed", "--checkpoint-every", "0", "--epochs", "20")
    killed.wait_for_steps()
    assert len(killed.others()) == 1
    killed.process.kill()
    assert killed.process.wait() == -signal.SIGKILL
    assert killed.left_alone_within(10)
    assert not list(killed.runs.glob("*/record.json"))
    left = []
    for runs in ("killed", "whole"):
        done = command(runs, "--epochs", "20", session=False)
        assert done.process.wait() == 0, done.process.communicate()
        (head,) = done.runs.glob("*/model/head.safetensors")
        left.append(results(home.runner(runs), find_run(done.runs, head.parents[1].name).fit()))
    assert left[0] == left[1] and left[0]["numerics"]["devices"] == 2


@pytest.mark.slow
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_of_all_processes_leaves_a_checkpoint(
    by: signal.Signals, home: Home, command: Callable[..., Command]
) -> None:
    """A terminal and a scheduler send their signal to the helper as well."""
    stopped = command(by.name, "--checkpoint-every", "0", "--epochs", "400")
    stopped.wait_for_steps()
    os.killpg(stopped.process.pid, by)
    out, err = stopped.process.communicate()
    assert (stopped.process.returncode, out) == (128 + by, "")
    assert "The same command goes on from here" in err and len(err.splitlines()) == 2
    assert stopped.left_alone_within(10)
    assert list(stopped.runs.glob("*/checkpoint/state.safetensors"))
