"""A task whose test labels only the owner of a board has, for tests of sharing and of boards."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from benchrunner import Split, Task, TextTable, Workspace
from benchrunner.results import Computing, Result, Runner, run_study
from benchrunner_kit.testing import sentences
from chancy import Chancy
from inline import ROWS, files, mood, runner, study_with

GOLD = "mood/test_gold.tsv"
SEED = 1


def sealed_task(**changes: Any) -> Task:
    """The task of the tests, whose test split has labels where their file is."""
    task = mood(method="chancy", **changes)
    labelled = TextTable(GOLD, {"a": "text", "label": "mood"})
    unlabelled = task.splits["test"]
    test = Split("test", (labelled, *unlabelled.sources), unlabelled.rows)
    return dataclasses.replace(task, splits={**task.splits, "test": test})


def gold() -> list[str]:
    """Return the labels of the test split, which only the owner has."""
    return list(sentences(ROWS["test"], seed=10 * SEED + 2)["label"])


def write_gold(data: Path) -> None:
    """Write the file of the test split with its labels."""
    made = sentences(ROWS["test"], seed=10 * SEED + 2)
    lines = [f"{text}\t{label}\n" for text, label in zip(made["a"], made["label"], strict=True)]
    (data / GOLD).write_text("".join(["text\tmood\n", *lines]))


def sender(folder: Path) -> Runner:
    """Return a runner whose data has no labels of the test split."""
    return runner(folder, seed=SEED, register_methods=[Chancy()], register_tasks=[sealed_task()])


def owner(folder: Path, of: Runner) -> Runner:
    """Return a runner of the same plugins whose data has these labels."""
    files(SEED, folder / "data")
    write_gold(folder / "data")
    workspace = Workspace(folder / "runs", folder / "cache", data=folder / "data")
    return Runner(of.plugins, workspace, Computing("cpu"))


def answered(made: Runner, system: str = "words", **changes: Any) -> Result:
    """Run a study of one system that answers the test split, too."""
    options: dict[str, Any] = {"seeds": (0, 1), "changes": {"lr": 6}, "tests": ("test",), **changes}
    return run_study(study_with({system: "words"}, tuple(made.plugins.tasks.values()), **options), made)
