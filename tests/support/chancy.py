"""A method for tests whose scores are known beforehand, and whose fits end as a test says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchrunner import Job, Method, Outcome, Runner
from inline import mood, runner


class Chancy(Method):
    """Answers lr * (1 + seed) rows of dev correctly. `endings` maps seeds to other outcomes, or to errors to raise."""

    name = "chancy"
    about = "for tests"

    def __init__(self, endings: dict[int, Any] | None = None) -> None:
        self._endings = endings or {}

    def fit(self, job: Job) -> Outcome:
        ending = self._endings.get(job.fit.seed)
        if isinstance(ending, BaseException):
            raise ending
        if ending is None:
            assert job.backbone is not None
            job.model.mkdir(parents=True)
            job.backbone.load(job.workspace, seed=0).save(job.model)
        return ending or Outcome()

    def predict(self, job: Job, table: Any) -> np.ndarray:
        gold = table.column("label").to_pylist() if "label" in table.column_names else ["glad"] * table.num_rows
        right = round(job.fit.recipe.lr * (1 + job.fit.seed))
        answers = [label if at < right else {"glad": "sad", "sad": "glad"}[label] for at, label in enumerate(gold)]
        return np.array([[label == "glad", label == "sad"] for label in answers], dtype=np.float32)


def chancy(folder: Path, endings: dict[int, Any] | None = None, **hooks: Any) -> Runner:
    return runner(folder, register_methods=[Chancy(endings)], register_tasks=[mood(method="chancy")], **hooks)
