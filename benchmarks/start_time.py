"""Time the start of commands beside a bare start of Python: seconds of the processor, and modules.

python benchmarks/start_time.py [--program FILE] [--runs 20]

Medians of interleaved runs. `--program` is the program of another installation, for example of an earlier version.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
from pathlib import Path

COMMANDS = ("--version", "list", "runs")


def seconds(words: list[str]) -> float:
    """Run a program, and return the seconds of the processor that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def modules(python: str, program: Path, command: str) -> int:
    """Count the modules that Python says it imports for a command."""
    words = [python, "-X", "importtime", str(program), command]
    done = subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return sum(line.startswith("import time:") for line in done.stderr.splitlines()) - 1  # a line is the heading


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, action="append")
    parser.add_argument("--runs", type=int, default=20)
    asked = parser.parse_args()
    programs = asked.program or [Path(sys.executable).parent / "benchrunner"]
    python = str(programs[0].parent / "python")
    bare = [python, "-c", "pass"]
    words = [bare, *([str(program), command] for command in COMMANDS for program in programs)]
    times = [[seconds(each) for each in words] for _ in range(asked.runs)]
    medians = [statistics.median(column) for column in zip(*times, strict=True)]
    for command, median in zip(words, medians, strict=True):
        ratio = f"{median * 1000:.0f} ms of the processor, {median / medians[0]:.1f} times the bare start"
        count = "" if command is bare else f", {modules(python, Path(command[0]), command[1])} modules"
        print(f"{' '.join(command)}: {ratio}{count}")


if __name__ == "__main__":
    main()
