"""Figures of `benchrunner speed` beside a timer of its own: seconds of a forward pass, and the peak of memory.

python benchmarks/speed_check.py [--backbone bert/random-4/128] [--length 128] [--batch 8] [--rounds 15] [--runs DIR]

The second timer is a process of its own, which loads the same encoder, makes a batch of random tokens, and times one
loop with `time.perf_counter`; its memory is `ru_maxrss`. Both processes take turns, so that what else the machine does
slows both of them, and the last column is the median of the ratios of the rounds, with its interval.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from benchrunner import Workspace
from benchrunner_speed.intervals import Estimate, ratio
from benchrunner_speed.worker import Place, load_backbone, started

LOOP_SECONDS = 0.3


def alone(arguments: argparse.Namespace) -> None:
    """Answer each line of standard input with the seconds of a forward pass, then print the peak of memory in bytes."""
    import numpy as np
    import torch

    from benchrunner.engine import Features, Sequences, collate

    torch.set_num_threads(arguments.threads)
    encoder = load_backbone(arguments.backbone, workspace(arguments)).eval()
    shape = (arguments.batch, arguments.length)
    tokens = np.random.default_rng(0).integers(1000, 1500, size=shape).astype(np.int32).reshape(-1)
    starts = np.arange(0, len(tokens) + 1, arguments.length, dtype=np.int64)
    features = Features.of(Sequences(tokens, np.zeros(len(tokens), np.int8), starts))
    batch = collate(features, np.arange(arguments.batch), torch.device("cpu"))
    for _ in sys.stdin:
        passes = 0
        began = time.perf_counter()
        with torch.no_grad():
            while time.perf_counter() - began < LOOP_SECONDS:
                encoder(batch)
                passes += 1
        print((time.perf_counter() - began) / passes, flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)


def workspace(arguments: argparse.Namespace) -> Workspace:
    """Return the folders in which `run:ID` is looked up."""
    return Workspace.from_environment(runs=arguments.runs)


def compare(arguments: argparse.Namespace) -> None:
    """Let both processes take turns, and print what they say."""
    place = Place("cpu", "fp32", arguments.threads)
    load = partial(load_backbone, arguments.backbone, workspace(arguments))
    other = subprocess.Popen(
        [sys.executable, __file__, *sys.argv[1:], "--alone"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdin is not None and other.stdout is not None
    shape = (arguments.batch, arguments.length)
    ours, theirs = list[float](), list[float]()
    with started(arguments.backbone, load, place) as worker:
        passes = worker.ask("passes", *shape)
        for number in range(arguments.rounds + 1):
            seconds = worker.ask("predict", *shape, passes)
            other.stdin.write("\n")
            other.stdin.flush()
            independent = float(other.stdout.readline())
            if number:  # the first round warms up
                ours.append(seconds)
                theirs.append(independent)
        peak = worker.ask("peak")
    other.stdin.close()
    independent_peak = float(other.stdout.readline())
    other.wait()
    times: Estimate = ratio(ours, theirs)
    print(f"{arguments.backbone}, {arguments.length} tokens, batch {arguments.batch}, {arguments.threads} thread(s)")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {arguments.rounds} rounds")
    print(f"seconds of a pass: {statistics.median(ours):.5f}, by the second timer {statistics.median(theirs):.5f}")
    print(f"ratio in a round:  {times.value:.3f} [{times.low:.3f}, {times.high:.3f}]")
    print(f"peak: {peak / 1e6:.0f} MB, by ru_maxrss {independent_peak / 1e6:.0f} MB: {peak / independent_peak:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backbone", default="bert/random-4/128")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--alone", action="store_true", help="be the second timer")
    arguments = parser.parse_args()
    (alone if arguments.alone else compare)(arguments)


if __name__ == "__main__":
    main()
