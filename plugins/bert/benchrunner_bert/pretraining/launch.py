"""Several processes of one machine for one run: the environment that torchrun would give them, and their end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from types import FrameType


def is_launched() -> bool:
    """Whether somebody has already said which of several processes this is."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def run(words: Sequence[str], processes: int) -> int:
    """The same command in so many processes; the first exit code that is not zero. Signals go to all of them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    common = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    common.setdefault("OMP_NUM_THREADS", os.environ.get("OMP_NUM_THREADS") or str(_threads(processes)))
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "benchrunner", *words],
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
        )
        for rank in range(processes)
    ]

    def pass_on(number: int, frame: FrameType | None) -> None:
        for one in started:
            one.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        codes = [one.wait() for one in started]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for one in started:
            if one.poll() is None:
                one.kill()
    return next((code for code in codes if code), 0)


def _threads(processes: int) -> int:
    return max(1, (os.cpu_count() or 1) // processes)
