"""A grid of eight fits: `benchrunner run` beside eight fits of transformers' Trainer, one after another.

python benchmarks/grid_speed.py --data DIR [--model DIR] [--tasks cola] [--repeats 3] [--quick]

Both sides fit four learning rates with two seeds each, in fp32, on the same rows, and predict the whole dev set after
each fit. Ours is one command with a cold cache, which chooses by itself how many fits run at the same time. The Trainer
is one process with all cores and its fastest settings: see peer_tasks.py. The seconds are those of the clock, from the
start of the process to its end; the seconds of the processor are summed over all processes. The machine must be idle.
`ours, --jobs 1` is ours one fit after another.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from measured_tasks import default_model, existing_folder, machine, task_names
from peer_tasks import BATCH
from timed_commands import PeerFits, Times, timed

from benchrunner.results import discover

RATES, SEEDS = (1e-5, 2e-5, 3e-5, 5e-5), (0, 1)
SYSTEMS = ("ours", "ours, --jobs 1", "trainer")


@dataclass(frozen=True)
class Grid:
    """The fits of all learning rates and seeds."""

    data: Path
    model: Path
    task: str
    steps: int

    def measure(self, system: str) -> tuple[Times, float]:
        """Run the grid with a system in a new folder; return its times and the mean dev score of its fits."""
        with tempfile.TemporaryDirectory() as folder:
            if system == "trainer":
                fits = [(seed, rate) for rate, seed in itertools.product(RATES, SEEDS)]
                times, scores = PeerFits(self.data, self.model, self.task, self.steps, fits).run(Path(folder))
                return times, statistics.fmean(scores)
            return self._ours(Path(folder), ["--jobs", "1"] if "jobs" in system else [])

    def _ours(self, folder: Path, jobs: list[str]) -> tuple[Times, float]:
        options = {
            "--backbone": self.model,
            "--data": self.data,
            "--runs": folder / "runs",
            "--limit-train": self.steps * BATCH,
            "--lr": ",".join(map(str, RATES)),
            "--seeds": ",".join(map(str, SEEDS)),
            "--epochs": 1,
            "--batch-size": BATCH,
            "--device": "cpu",
            "--set": "precision=fp32",
            "--keep": "none",
        }
        words = [str(word) for option in options.items() for word in option]
        command = ["-m", "benchrunner", "run", self.task, *words, *jobs, "--offline", "--quiet", "--json"]
        times, _ = timed(command, {"BENCHRUNNER_CACHE": str(folder / "cache")})
        metric = discover().tasks.find(self.task).metrics[0].name
        fits = [file.parent for file in folder.glob("runs/*/fit.json") if json.loads(file.read_text())["backbone"]]
        records = [json.loads(file.read_text()) for fit in fits for file in fit.glob("predictions/*/record.json")]
        scores = [record["scores"][metric]["value"] for record in records]
        assert len(scores) == len(RATES) * len(SEEDS)
        return times, statistics.fmean(scores)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=existing_folder, required=True)
    parser.add_argument("--model", type=existing_folder, default=default_model())
    parser.add_argument("--tasks", type=task_names, default=["glue/cola"])
    parser.add_argument("--repeats", type=int, help="turns; 3 by default, 1 with --quick")
    parser.add_argument("--steps", type=int, default=50, help="steps of each fit")
    parser.add_argument("--quick", action="store_true", help="10 steps of each fit, without --jobs 1")
    asked = parser.parse_args()
    systems = [system for system in SYSTEMS if not (asked.quick and "jobs" in system)]
    steps, repeats = 10 if asked.quick else asked.steps, asked.repeats or (1 if asked.quick else 3)
    print(f"eight fits of {steps} steps, fp32; {repeats} turn(s); {machine()}\n")
    print("| task | system | seconds | seconds of the processor | it / ours | dev score |\n|---|---|---|---|---|---|")
    for task in asked.tasks:
        grid = Grid(asked.data, asked.model, task, steps)
        turns = [{system: grid.measure(system) for system in systems} for _ in range(repeats)]
        clocks = {system: statistics.median(turn[system][0].clock for turn in turns) for system in systems}
        for system in systems:
            processor = statistics.median(turn[system][0].processor for turn in turns)
            mean = statistics.fmean(turn[system][1] for turn in turns)
            ratio = clocks[system] / clocks["ours"]
            print(
                f"| {task} | {system} | {clocks[system]:.1f} | {processor:.1f} | {ratio:.2f} | {mean:.3f} |", flush=True
            )


if __name__ == "__main__":
    main()
