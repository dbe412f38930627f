"""How long `benchrunner list` takes, as a user waits for it: the median of ten runs, the first one not counted."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

RUNS = 10


def seconds() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "benchrunner", "list"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


if __name__ == "__main__":
    seconds()  # fills the file cache
    taken = sorted(seconds() for _ in range(RUNS))
    print(f"benchrunner list: median {statistics.median(taken):.3f} s of {RUNS} ({taken[0]:.3f} to {taken[-1]:.3f})")
