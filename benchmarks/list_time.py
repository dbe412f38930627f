"""Time `benchrunner list` beside a bare start of Python: medians of ten interleaved runs, and their ratio."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 10


LIST = (sys.executable, "-m", "benchrunner", "list")
BARE = (sys.executable, "-c", "pass")


def seconds(command: tuple[str, ...]) -> float:
    """Run a command and return the time that a user waits for it."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


if __name__ == "__main__":
    seconds(LIST), seconds(BARE)  # fill the file cache
    times = [(seconds(LIST), seconds(BARE)) for _ in range(RUNS)]
    listing, bare = (statistics.median(column) for column in zip(*times, strict=True))
    print(f"list {listing:.3f} s; python -c pass {bare:.3f} s; ratio {listing / bare:.1f}, medians of {RUNS}")
