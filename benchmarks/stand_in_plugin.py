"""A plugin of fits that learn nothing: `growth.py` and `plan_simulation.py` install it in a folder of their own.

It offers tasks whose rows stand in files of the data folder, backbones that are only names, and the method `stand-in`,
whose fit sleeps for STAND_IN_SECONDS and answers at random.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from benchrunner import ACCURACY, Classify, Split, Suite, Task, TextTable, Workspace, hookimpl
from benchrunner.engine import Backbone, BackboneFamily, Job, Method, OneBackbone, Outcome, write_json
from benchrunner.methods.method import BackboneReference

TASKS = 100
BACKBONES = 8
LABELS = ("no", "yes")
WORDS = "the river was calm and bright while seven old boats went slowly home".split()  # noqa: SIM905


class Name(Backbone):
    """A backbone that is only a name: nothing loads it."""

    about = "only a name"

    def __init__(self, name: str) -> None:
        self.name = name

    def revision(self, workspace: Workspace) -> str:
        return f"revision of {self.name}"

    def weight_count(self, workspace: Workspace) -> int:
        return 1

    def load(self, workspace: Workspace, *, seed: int) -> NoReturn:
        raise AssertionError("a stand-in fit loads no backbone")


class StandIn(Method):
    """Sleeps in place of training, and answers at random."""

    name = "stand-in"
    about = "for measurements"

    def fit(self, job: Job) -> Outcome:
        assert job.backbone is not None
        time.sleep(float(os.environ.get("STAND_IN_SECONDS", "0")))
        job.model.mkdir(parents=True)
        reference = {"backbone": job.backbone.name, "revision": job.backbone.revision(job.workspace)}
        write_json(job.model / BackboneReference.FILE, reference)
        return Outcome()

    def predict(self, job: Job, table: Any) -> Any:
        import numpy as np

        draw = np.random.default_rng(int(job.fit.id, 16))
        return draw.random((table.num_rows, len(LABELS)), dtype=np.float32)


def _task(number: int) -> Task:
    splits: dict[str, Split] = {}
    for role in ("train", "dev"):
        file = TextTable(f"task-{number:02}/{role}.tsv", {"a": "text", "label": "label"})
        splits[role] = Split(role, (file,))
    about = "Made-up rows with labels of chance."
    suite = Suite("growth")
    return Task(f"growth/{number:02}", about, Classify(LABELS), splits, (ACCURACY,), method="stand-in", suite=suite)


def write_rows(path: Path, count: int, seed: int) -> None:
    """Write a file with rows of a task."""
    draw = random.Random(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.write("text\tlabel\n")
        for row in range(count):
            file.write(f"{row} {' '.join(draw.choices(WORDS, k=8))}\t{draw.choice(LABELS)}\n")


def install(folder: Path) -> Path:
    """Write what tells Python that this plugin is installed; return the folder for PYTHONPATH."""
    information = folder / "stand_in_plugin-1.0.dist-info"
    information.mkdir(parents=True, exist_ok=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: stand-in-plugin\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[benchrunner]\nstand-in = stand_in_plugin\n")
    (folder / "stand_in_plugin.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
    return folder


@hookimpl
def register_tasks() -> Iterator[Task]:
    yield from map(_task, range(TASKS))


@hookimpl
def register_methods() -> Iterator[Method]:
    yield StandIn()


@hookimpl
def register_backbones() -> Iterator[BackboneFamily]:
    for number in range(BACKBONES):
        yield OneBackbone(Name(f"growth/system-{number}"), lambda folder: None)
