"""A fit of the tiny encoder to a problem's rows, through the runner: how well it answers dev."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchrunner import Metric, Recipe, RowsFrom, Split, Task, Workspace
from benchrunner.engine import Problem
from benchrunner.results import Computing, Runner
from benchrunner.runs.predicting import predict
from benchrunner_kit.testing import check_task
from inline import plugins

RECIPE = Recipe(lr=0.02, epochs=6, batch_size=8)


def accuracy_of_tiny_fit(
    folder: Path, problem: Problem, rows: Callable[[str], dict[str, list[Any]]], metric: Metric
) -> float:
    """Check the task, fit it, and return the metric's value on dev. `rows` gives the columns of train and of dev."""
    sources = {role: RowsFrom(lambda workspace, role=role: rows(role)) for role in ("train", "dev")}
    splits: dict[str, Split] = {name: Split(name, (source,)) for name, source in sources.items()}  # type: ignore[arg-type]
    task = Task("mine/tiny", "a tiny task", problem, splits, (metric,), RECIPE)
    workspace = Workspace(folder / "runs", folder / "cache", data=folder)
    check_task(task, folder, workspace=workspace)
    runner = Runner(plugins(register_tasks=[task]), workspace, Computing("cpu"))
    fit = runner.planner.plan(task, "tiny/words", recipe=RECIPE, seed=0)
    assert runner.run(fit).status == "done"
    value = predict(fit, "dev", runner).record.scores[metric.name].value
    assert value is not None
    return value
