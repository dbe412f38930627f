"""Private memory of a command while it runs: a line for each tenth of its time.

python benchmarks/memory_over_time.py -- benchrunner run cola --backbone bert/novels --precision bf16 ...

A command whose memory grows with each step is found by it. The first tenths have imports and the reading of data.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path


def private(process: int) -> float:
    """Megabytes of a process that no file backs; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1024


def main() -> None:
    if sys.argv[1:2] != ["--"] or not sys.argv[2:]:
        raise SystemExit(__doc__)
    if shutil.which(sys.argv[2]) is None:
        raise SystemExit(f"there is no command {sys.argv[2]}")
    began = time.monotonic()
    command = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL)
    seen: list[tuple[float, float]] = []
    while command.poll() is None:
        seen.append((time.monotonic() - began, private(command.pid)))
        time.sleep(0.1)
    if command.returncode:
        raise SystemExit(command.returncode)
    whole = seen[-1][0]
    for tenth in range(1, 11):
        part = [megabytes for second, megabytes in seen if (tenth - 1) * whole / 10 <= second <= tenth * whole / 10]
        print(f"{tenth * whole / 10:7.1f} s  {max(part, default=0):8.1f} MB at most")


if __name__ == "__main__":
    main()
