"""What checks are made with: sentences and their problem, data of tasks, rows with outputs, jobs of fits."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from benchrunner import Classify, PluginError, Recipe, Rows, Workspace
from benchrunner.engine import Backbone, Cache, Encoder, Features, Job, Method
from benchrunner.results import Computing, Fit
from benchrunner_kit.testing.tiny_encoder import TinyEncoder

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


def with_data(tasks: Iterable[Task], folder: Path, workspace: Workspace | None) -> Workspace:
    """Return the workspace that is given, or one below `folder` with the demo files of the tasks."""
    if workspace is not None:
        return workspace
    for task in tasks:
        if task.demo_files is None:
            raise PluginError(f"{task.name}: without demo_files, give a workspace with its data.")
        task.demo_files(folder / "data")
    return Workspace.of_demo(folder)


@final
@dataclass(frozen=True)
class Sample:
    """Checked rows, and what a problem makes of them with the tiny encoder."""

    problem: Problem
    table: pa.Table
    recipe: Recipe

    def of(self, table: pa.Table) -> Sample:
        """Return the sample of other rows."""
        return replace(self, table=table)

    @property
    def without_labels(self) -> Sample:
        """The sample of the same rows without their label columns."""
        return self.of(unlabelled(self.problem, self.table))

    @property
    def repeated(self) -> Iterator[tuple[Sample, str]]:
        """The samples whose tokens and answers must be the same, and what they are."""
        yield self.of(self.table), "in a second call"
        yield self.without_labels, f"for rows without the label columns ({', '.join(self.problem.label_columns)})"

    @property
    def rows(self) -> list[Sample]:
        """The sample of each row."""
        tables = map(self.table.slice, range(len(self.table)), repeat(1))
        return list(map(self.of, tables))

    @property
    def gold(self) -> list[Any]:
        """The right answers; empty for rows without labels."""
        return self.problem.gold(self.table) or []

    @cached_property
    def features(self) -> Features:
        """The features whose outputs are gathered."""
        return self.problem.encode(self.table, TinyEncoder(), self.recipe, training=False)

    @cached_property
    def outputs(self) -> np.ndarray:
        """Outputs as `gather` gets them, drawn at random: one for each sequence or token, behind the own layers."""
        of_head = drawn(self.problem, self.features, seed=0)
        with torch.no_grad():
            outputs = behind(self.problem.own_layers(0), of_head)
        return outputs.numpy().copy()

    @property
    def raw(self) -> np.ndarray:
        """The raw outputs of `outputs`."""
        return self.gathered(self.outputs)

    def gathered(self, outputs: np.ndarray) -> np.ndarray:
        """Return the raw outputs of a copy of the outputs, which the problem may change."""
        return self.problem.gather(outputs.copy(), self.features, self.table)

    def answers(self, raw: np.ndarray) -> list[Any]:
        """Decode raw outputs with the problem's own settings."""
        return self.problem.decode(raw, self.table, self.problem.decoding)


def unlabelled(problem: Problem, table: pa.Table) -> pa.Table:
    """Return the rows without their label columns."""
    return table.drop_columns([name for name in problem.label_columns if name in table.column_names])


def drawn(problem: Problem, features: Features, *, seed: int) -> torch.Tensor:
    """Draw outputs as a head gives them."""
    slots = features.tokens if problem.head.level == "token" else features.owner
    numbers = np.random.default_rng(seed).normal(size=(len(slots), problem.head.width))
    return torch.tensor(numbers, dtype=torch.float32)


def behind(layers: torch.nn.Module | None, outputs: torch.Tensor) -> torch.Tensor:
    """Return what a problem's own layers make of a head's outputs."""
    if layers is None:
        return outputs
    made: torch.Tensor = layers(outputs)
    return made


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
