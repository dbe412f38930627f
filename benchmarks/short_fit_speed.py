"""Processor time of whole short fits from the command line, with cold caches, beside a script with the Trainer.

python benchmarks/short_fit_speed.py --data DIR [--quick] [--model DIR] [--tasks cola,rte,mrpc] [--repeats 3]

A fit is one epoch of a few batches and the answers to some dev rows. Ours is the command `benchrunner run` with empty
caches; the other side is peer_fit.py, a script that reads the same rows from a JSON file. The systems take turns, with
the number of the turn as the seed. The table has medians over the turns of the time of the whole process on all its
cores, the ratio to ours at the same precision, and the means of the dev scores. For figures that repeat, run it on one
pinned core (`OMP_NUM_THREADS=1 taskset -c 1 python ...`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path

from measured_tasks import default_model, existing_folder, machine, number, task_names
from peer_tasks import BATCH, RATE
from timed_commands import PeerFits, timed

from benchrunner.results import discover

TASKS = ("glue/cola", "glue/rte", "glue/mrpc")
STEPS = {"glue/cola": 50, "glue/rte": 19, "glue/mrpc": 25}
"""Steps of a fit; 16 for other tasks."""
QUICK_STEPS = 8
DEV_ROWS = 300
SYSTEMS = ("trainer fp32 padded", "trainer fp32", "trainer bf16", "ours fp32", "ours bf16")


@dataclass(frozen=True)
class Fit:
    """A short fit of one system."""

    data: Path
    model: Path
    task: str
    system: str
    steps: int
    seed: int

    @property
    def precision(self) -> str:
        return "bf16" if "bf16" in self.system else "fp32"

    def measure(self) -> tuple[float, float]:
        """Return the time of the processor and the dev score."""
        with tempfile.TemporaryDirectory() as folder:
            if self.system.startswith("ours"):
                return self._ours(Path(folder))
            fits, padded = [(self.seed, RATE)], "padded" in self.system
            peer = PeerFits(self.data, self.model, self.task, self.steps, fits, self.precision, padded, DEV_ROWS)
            times, [score] = peer.run(Path(folder))
            return times.processor, score

    def _ours(self, folder: Path) -> tuple[float, float]:
        options = {
            "--backbone": self.model,
            "--data": self.data,
            "--runs": folder / "runs",
            "--limit-train": self.steps * BATCH,
            "--limit-dev": DEV_ROWS,
            "--epochs": 1,
            "--batch-size": BATCH,
            "--lr": RATE,
            "--set": f"precision={self.precision}",
            "--seeds": self.seed,
        }
        words = [str(word) for option in options.items() for word in option]
        command = ["-m", "benchrunner", "run", self.task, *words, "--offline", "--quiet", "--json"]
        times, output = timed(command, {"BENCHRUNNER_CACHE": str(folder / "cache")})
        headline = json.loads(output)["cells"][0]["scores"][0]
        return times.processor, number(headline["mean"]["value"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=existing_folder, required=True)
    parser.add_argument("--model", type=existing_folder, default=default_model())
    parser.add_argument("--repeats", type=int, help="turns; 3 by default, 1 with --quick")
    parser.add_argument("--quick", action="store_true", help="8 steps of each fit, fp32 alone, without padded")
    parser.add_argument("--tasks", type=task_names, default=list(TASKS))
    parser.add_argument("--without", metavar="PARTS", help="not the systems with these words: padded,bf16")
    asked = parser.parse_args()
    repeats = asked.repeats or (1 if asked.quick else 3)
    left_out = (asked.without or ("padded,bf16" if asked.quick else "nothing")).split(",")
    systems = [system for system in SYSTEMS if not any(part in system for part in left_out)]
    print(f"{repeats} turn(s); {machine()}\n")
    print(
        "| task | steps | system | seconds of the processor | it / ours | dev | score |\n|---|---|---|---|---|---|---|"
    )
    for task in asked.tasks:
        steps = QUICK_STEPS if asked.quick else STEPS.get(task, 16)
        results: dict[str, list[tuple[float, float]]] = {system: [] for system in systems}
        for turn in range(repeats):
            for system in systems:
                results[system].append(Fit(asked.data, asked.model, task, system, steps, turn).measure())
        times = {system: statistics.median(seconds for seconds, _ in results[system]) for system in systems}
        metric = discover().tasks.find(task).metrics[0].name
        for system in systems:
            same = "ours bf16" if "bf16" in system else "ours fp32"
            ratio = f"{times[system] / times[same]:.2f}" if same in times and system != same else ""
            mean = statistics.fmean(score for _, score in results[system])
            print(
                f"| {task} | {steps} | {system} | {times[system]:.1f} | {ratio} | {metric} | {mean:.3f} |", flush=True
            )


if __name__ == "__main__":
    main()
