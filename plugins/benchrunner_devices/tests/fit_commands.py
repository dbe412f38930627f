"""Command lines that fit, each in a process of its own."""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

import forked
from cluster_plugin import Home

WORDS = (
    *("run", "mine/mood", "--backbone", "tiny/words", "--lr", "0.02", "--batch-size", "8"),
    *("--set", "micro-tokens=40", "--device", "cpu", "--data", "data", "--quiet"),
)
TWO_CORES = """
import sys
from benchrunner.fits import computing
from benchrunner.training import loop
computing.available_cores = lambda: 2
loop.LOG_STEPS = 1
from benchrunner.command_line.main import main
sys.exit(main(sys.argv[1:]))
"""


class Command:
    """A command line; in a session of its own, its helper is a fresh process of the session."""

    def __init__(self, home: Home, runs: str, *more: str, session: bool) -> None:
        words = ["-c", TWO_CORES, *WORDS, "--runs", runs, *more]
        self.process = forked.Process(words, cwd=home.folder, env=os.environ, start_new_session=session)
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
