"""What checks are made with: sentences and their problem, data of tasks, and jobs of fits outside of a runner."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner import Classify, PluginError, Recipe, Rows, Workspace
from benchrunner.engine import Backbone, Cache, Encoder, Job, Method
from benchrunner.results import Computing, Fit
from benchrunner_kit.testing.contract import Findings

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner import Task
    from benchrunner.engine import Problem

MOOD = Classify(("glad", "sad"))
"""The problem of `sentences`: is a text glad or sad?"""

_MOODS = {"glad": ("sunny", "merry", "bright"), "sad": ("rainy", "gloomy", "bleak")}
_FILLERS = ("the", "day", "was", "walk", "by", "river", "we", "had", "a")


def sentences(count: int, *, seed: int = 0, shortest: int = 3, longest: int = 10) -> dict[str, list[str]]:
    """Make up sentences: the columns `a`, texts, and `label`, glad or sad by one word of the text.

    The sentences have `shortest` to `longest` words. The same seed gives the same sentences.
    """
    draw = random.Random(seed)
    labels = [draw.choice(MOOD.labels) for _ in range(count)]
    texts = []
    for label in labels:
        words = draw.choices(_FILLERS, k=draw.randint(shortest - 1, longest - 1))
        words.insert(draw.randrange(len(words)), draw.choice(_MOODS[label]))
        texts.append(" ".join(words))
    return {"a": texts, "label": labels}


def with_data(tasks: Iterable[Task], folder: Path, workspace: Workspace | None, findings: Findings) -> Workspace:
    """Return the workspace that is given, or one below `folder` with the demo files of the tasks."""
    if workspace is not None:
        return workspace
    for task in tasks:
        if task.demo_files is None:
            raise PluginError(f"{task.name}: without demo_files, give a workspace with its data.")
        for place in ("data", "again"):
            task.demo_files(folder / place)
    if _contents(folder / "data") != _contents(folder / "again"):
        findings.add("demo_files writes different files each time: draw random numbers from a fixed seed")
    return Workspace.of_demo(folder)


def _contents(folder: Path) -> Mapping[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fit_job(
    method: Method,
    problem: Problem,
    table: pa.Table,
    backbone: Backbone | None,
    workspace: Workspace,
    home: Path,
    recipe: Recipe,
    *,
    seed: int = 0,
) -> Job:
    """Return the job of a fit on the CPU whose files are below `home`."""
    name = "" if backbone is None else backbone.name
    return Job(
        fit=Fit("check", name, method.name, recipe, seed, "", problem.identity(), "", {}),
        problem=problem,
        workspace=workspace,
        cache=Cache(home / "cache"),
        computing=Computing("cpu"),
        model=home / "model",
        checkpoint=home / "checkpoint",
        log=home / "log.jsonl",
        report=lambda event: None,
        train=Rows(table, "sample rows"),
        backbone=backbone,
        parameters=method.parameter_values(recipe),
    )


@final
@dataclass(frozen=True)
class Loaded(Backbone):
    """A backbone whose encoder is loaded already, so that a check keeps the encoder that a fit trains."""

    encoder: Encoder
    name: str = "loaded"
    about: str = "an encoder in memory"

    def revision(self, workspace: Workspace) -> str:
        return ""

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        return self.encoder
