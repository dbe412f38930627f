"""Time the start of commands beside a bare start of Python: seconds of the processor, and modules.

python benchmarks/start_time.py [--program FILE] [--runs 20]

Medians of interleaved runs in an empty folder, with the quartiles of their ratios. `--program` is the program of
another installation, for example of an earlier version. Python may keep compiled modules, as it does for users:
where the environment forbids it, every start would compile all of them anew. An editable installation lengthens the
bare start, so that its ratios are too small.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

COMMANDS = ("--version", "list", "runs")


def seconds(words: list[str], folder: str, environment: Mapping[str, str]) -> float:
    """Run a program, and return the seconds of the processor that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=folder, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def modules(program: Path, command: str) -> int:
    """Count the modules that Python says it imports for a command."""
    words = [str(program.parent / "python"), "-X", "importtime", str(program), command]
    done = subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return sum(line.startswith("import time:") for line in done.stderr.splitlines()) - 1  # a line is the heading


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, action="append")
    parser.add_argument("--runs", type=int, default=20)
    asked = parser.parse_args()
    programs = [program.absolute() for program in asked.program or [Path(sys.executable).parent / "benchrunner"]]
    bare = [str(programs[0].parent / "python"), "-c", "pass"]
    words = [bare, *([str(program), command] for command in COMMANDS for program in programs)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with TemporaryDirectory() as empty, TemporaryDirectory() as compiled:
        environment["PYTHONPYCACHEPREFIX"] = compiled  # and not in a checkout
        for each in words:
            seconds(each, empty, environment)
        times = [[seconds(each, empty, environment) for each in words] for _ in range(asked.runs)]
    for column, command in enumerate(words):
        median = statistics.median(turn[column] for turn in times)
        ratios = [turn[column] / turn[0] for turn in times]
        low, middle, high = statistics.quantiles(ratios, n=4)
        text = f"{median * 1000:.0f} ms of the processor, {middle:.1f} times the bare start ({low:.1f} to {high:.1f})"
        count = "" if command is bare else f", {modules(Path(command[0]), command[1])} modules"
        print(f"{' '.join(command)}: {text}{count}")


if __name__ == "__main__":
    main()
