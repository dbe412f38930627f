"""A plugin that worker processes find too, because a test installs the plugin in a folder of their PYTHONPATH.

It offers the inline task and the tiny backbone, and methods that fail in several ways. Each fit that begins leaves a
file `ID-PROCESS-TIME` in the folder BENCHRUNNER_MARKS.
"""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import forked
from benchrunner import Recipe, Workspace, hookimpl
from benchrunner.engine import Job, Method, Outcome
from benchrunner.results import Computing, Event, Fit, Runner, discover
from benchrunner.runs.predicting import predict
from worker_offers import register_backbones as register_backbones, register_tasks as register_tasks

SUPPORT = Path(__file__).parent


class Troubled(Method):
    """A method that fails, ends its process or waits, depending on its name; its logits are zeros."""

    about = "for tests"
    recipe_fields = ()
    trains_encoder = False

    def __init__(self, name: str) -> None:
        self.name = name

    def fit(self, job: Job) -> Outcome:
        mark(job.fit)
        if self.name == "failing":
            raise ValueError("not today")
        if self.name == "dying":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.name == "slow":  # waits in the first fit only
            marks = Path(os.environ["BENCHRUNNER_MARKS"])
            while len(list(marks.glob(f"{job.fit.id}-*"))) == 1 and not (marks / "hurry").exists():
                time.sleep(0.05)
        from benchrunner.methods import steps

        assert job.backbone is not None
        steps.save(job, job.backbone.load(job.workspace, seed=0), {})
        return Outcome()

    def predict(self, job: Job, table: Any) -> Any:
        import numpy as np

        return np.zeros((table.num_rows, 2), dtype=np.float32)


@hookimpl
def register_methods() -> Iterator[Method]:
    for name in ("failing", "dying", "slow"):
        yield Troubled(name)


@hookimpl
def on_progress(fit: Fit, event: Event) -> None:
    if event.kind == "step" and event.done == 1:
        mark(fit)


def mark(fit: Fit) -> None:
    """Leave the file of a fit that begins."""
    Path(os.environ["BENCHRUNNER_MARKS"], f"{fit.id}-{os.getpid()}-{time.monotonic_ns()}").touch()


class Home:
    """A folder with data, runs and this plugin, which the test's process and its worker processes have installed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from inline import files

        self.folder, self.site, self.marks = folder, folder / "site", folder / "marks"
        information = self.site / "cluster_plugin-1.0.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: cluster-plugin\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text("[benchrunner]\ncluster = cluster_plugin\n")
        self.marks.mkdir()
        files(1, folder / "data")
        monkeypatch.syspath_prepend(str(self.site))
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(self.site), str(SUPPORT), forked.PYTHONPATH]))
        monkeypatch.setenv("BENCHRUNNER_MARKS", str(self.marks))
        monkeypatch.setenv("BENCHRUNNER_CACHE", str(folder / "cache"))
        monkeypatch.setenv("BENCHRUNNER_TASKS", "")
        monkeypatch.setenv("OMP_NUM_THREADS", "1")
        monkeypatch.chdir(folder)

    def runner(self, runs: str = "runs", **options: Any) -> Runner:
        """Make a runner with the installed plugins."""
        workspace = Workspace(self.folder / runs, self.folder / "cache", data=self.folder / "data")
        return Runner(discover(), workspace, Computing("cpu", **options))

    def fits(self, runner: Runner, count: int, *, method: str = "finetune", epochs: int = 2) -> list[Fit]:
        """Plan fits that differ by their seeds."""
        recipe, task = Recipe(lr=0.02, epochs=epochs, batch_size=8), runner.plugins.tasks.find("mine/mood")
        return [runner.planner.plan(task, "words", method=method, recipe=recipe, seed=seed) for seed in range(count)]

    def fit_of_a_file(self, runner: Runner) -> Fit:
        """Plan a fit of a task file that a worker finds by the environment of its order alone."""
        folder = self.folder / "elsewhere-than-the-data"
        folder.mkdir()
        (folder / "train.csv").write_text("text,mood\n" + "sun,glad\nrain,sad\n" * 8)
        keys = 'problem = "classify"\nlabels = ["glad", "sad"]\ncolumns = {a = "text", label = "mood"}\n'
        (folder / "moods.toml").write_text(f'{keys}splits = {{train = "train.csv", dev = "train.csv"}}\n')
        task = runner.plugins.tasks.find("elsewhere-than-the-data/moods.toml")
        shutil.rmtree(self.folder / "cache" / "task-files")
        return runner.planner.plan(task, "words", recipe=Recipe(lr=0.02, epochs=2, batch_size=8))

    def begun(self, fit: Fit) -> int:
        """Count how often a fit began."""
        return len(list(self.marks.glob(f"{fit.id}-*")))


def results(runner: Runner, fit: Fit) -> dict[str, Any]:
    """Read what a fit computed: its weights and answers as bytes, its scores, and how they were computed."""
    scores, folder = predict(fit, "dev", runner).record.scores, runner.folder(fit).path
    names = ("model/*", "outputs/*.npy", "predictions/*/answers.jsonl", "log.jsonl")
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for name in names for path in folder.glob(name)}
    record = runner.folder(fit).finished_record()
    assert record is not None and len(files) >= 4
    return {**files, "numerics": record.numerics, "scores": scores}
