"""Divide a profile of a command and its worker processes: which share of the samples is of training steps?

py-spy record --subprocesses -r 20 -f raw -o raw.txt -- benchrunner compare B C --tasks cola rte mrpc stsb wnli
python benchmarks/compare_profile.py raw.txt

py-spy (from PyPI) samples the Python stacks of all processes; threads that wait are left out. A sample belongs to the
first part below of which a function stands in its stack.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

PARTS = {
    "waiting for messages": ("_listen (", "_receive (", "_next_answer (", "_watch ("),
    "encoding": ("features (benchrunner/training/feature_cache", " encode ("),
    "training steps": ("_learn (benchrunner/training/loop",),
    "other parts of training": ("train (benchrunner/methods/steps",),
    "predictions": ("_computed_outputs (", "_predict (benchrunner/runs/predicting"),
    "loading of models": ("load_encoder (", "load_fitted_encoder ("),
    "saving": ("save (benchrunner/methods", "write_folder_atomically ("),
    "statistics": ("benchrunner_statistics/",),
    "plans, identity and data": ("benchrunner/runs/planner", "benchrunner/studies/planning"),
    "imports": ("_find_and_load (",),
}
"""Part -> what a function of it contains, as py-spy writes a function: `name (file:line)`."""
REST = "rest"


def part_of(stack: str) -> str:
    """Name the part to which a stack belongs."""
    for part, marks in PARTS.items():
        if any(mark in stack for mark in marks):
            return part
    return REST


def main() -> None:
    """Print the share of each part, without the samples of threads that wait."""
    counts = Counter[str]()
    for line in Path(sys.argv[1]).read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        counts[part_of(stack.replace(" (/", " ("))] += int(count)
    del counts["waiting for messages"]
    total = counts.total()
    for part, samples in counts.most_common():
        print(f"{part}: {samples / total:.1%}")


if __name__ == "__main__":
    main()
