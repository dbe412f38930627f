"""Commands with several devices per fit that are killed or stopped leave no process, and go on exactly."""

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import forked
from benchrunner.results import find_run
from cluster_plugin import Home, results

WORDS = (
    *("run", "mine/mood", "--backbone", "tiny/words", "--lr", "0.02", "--batch-size", "8"),
    *("--micro-tokens", "40", "--device", "cpu", "--devices-per-fit", "2", "--data", "data", "--quiet"),
)
TWO_CORES = """
import sys
from benchrunner.fits import computing
computing.available_cores = lambda: 2
from benchrunner.command_line.main import main
sys.exit(main(sys.argv[1:]))
"""


class Command:
    """A command line in a session of its own."""

    def __init__(self, home: Home, runs: str, *more: str) -> None:
        words = ["-c", TWO_CORES, *WORDS, "--runs", runs, *more]
        self.process = forked.Process(words, cwd=home.folder, env=os.environ, start_new_session=True)
        self.runs = home.folder / runs

    def wait_until(self, reached: Callable[[], object]) -> None:
        end = time.monotonic() + 500
        while not reached():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)

    def wait_for_steps(self) -> None:
        """Wait until the fit has a checkpoint, with which both processes compute."""
        self.wait_until(lambda: list(self.runs.glob("*/checkpoint/state.safetensors")))

    def others(self) -> list[int]:
        """List the processes of the session that have not ended, without the command itself."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # the process has ended meanwhile
                state, _, _, session = stat.read_text().rsplit(")", 1)[1].split()[:4]
                number = int(stat.parent.name)
                if int(session) == self.process.pid != number and state != "Z":
                    found.append(number)
        return found

    def left_alone_within(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.others():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True


@pytest.fixture
def command(home: Home) -> Iterator[Callable[..., Command]]:
    started: list[Command] = []

    def start(*words: str) -> Command:
        started.append(Command(home, *words))
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
        done = command(runs, "--epochs", "20")
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
