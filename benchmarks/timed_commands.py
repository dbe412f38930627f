"""Whole processes with their time: commands of ours, and fits with transformers' Trainer in a script."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from measured_tasks import described, score
from peer_tasks import BATCH

from benchrunner import Workspace
from benchrunner.results import Runner, discover
from benchrunner.workspace import Settings


@dataclass(frozen=True)
class Times:
    """Seconds of a process and its children, from the start to the end."""

    clock: float
    processor: float


def timed(words: Sequence[str], variables: Mapping[str, str] | None = None) -> tuple[Times, str]:
    """Run Python with arguments; return the times and the output."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", **(variables or {})}
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, *words], stdout=output, stderr=errors, env=environment)
        _, status, usage = os.wait4(process.pid, 0)  # the usage has that of the children that have ended
        times = Times(time.perf_counter() - started, usage.ru_utime + usage.ru_stime)
        process.returncode = os.waitstatus_to_exitcode(status)
        for file in (output, errors):
            file.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(words)}\nended with {process.returncode}:\n{errors.read()}")
        return times, output.read()


@dataclass(frozen=True)
class PeerFits:
    """Fits of a task with transformers' Trainer, one after another in one process."""

    data: Path
    model: Path
    task: str
    steps: int
    fits: Sequence[tuple[int, float]]
    """Seed and learning rate of each fit."""
    precision: str = "fp32"
    padded: bool = False
    dev_rows: int | None = None
    """Number of dev rows that are answered; None is all."""

    def run(self, folder: Path) -> tuple[Times, list[float]]:
        """Return the times, and the dev score of each fit."""
        task = discover().tasks.find(self.task)
        settings = Settings(limit_dev=self.dev_rows)
        runner = Runner(discover(), Workspace(folder / "runs", folder / "cache", data=self.data, settings=settings))
        dev = runner.planner.rows(task, task.selection_splits[0]).table.to_pylist()
        request = {
            "model": str(self.model),
            "task": dataclasses.asdict(described(task)),
            "train": runner.planner.rows(task, task.train).table.slice(0, self.steps * BATCH).to_pylist(),
            "dev": dev,
            "fits": list(self.fits),
            "padded": self.padded,
            "precision": self.precision,
        }
        file = folder / "request.json"
        file.write_text(json.dumps(request), encoding="utf-8")
        times, output = timed([str(Path(__file__).with_name("peer_fit.py")), str(file)])
        return times, [score(task, dev, answers) for answers in json.loads(output.splitlines()[-1])]
