"""Methods that train nothing, whose best learning rate depends on the rule, the metric or the split that selects."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from benchrunner.data.delimited import TextTable
from benchrunner.engine import Job
from benchrunner.results import Runner
from benchrunner.tasks.task import Split
from chancy import Chancy
from inline import mood, runner


def _is_glad(table: Any) -> np.ndarray:
    return np.array([label == "glad" for label in table.column("label").to_pylist()])


def _logits(is_glad: np.ndarray) -> np.ndarray:
    return np.stack([is_glad, ~is_glad], axis=1).astype(np.float32)


class RestartDependent(Chancy):
    """Answers best on the mean with the learning rate 8, and best of all in one restart with 4."""

    RIGHT: ClassVar = {(4, 0): 2, (4, 1): 24, (4, 2): 2, (8, 0): 16, (8, 1): 17, (8, 2): 18}

    def predict(self, job: Job, table: Any) -> np.ndarray:
        gold = _is_glad(table)
        right = np.arange(len(gold)) < self.RIGHT[round(job.fit.recipe.lr), job.fit.seed]
        return _logits(np.where(right, gold, ~gold))


class MetricDependent(Chancy):
    """Answers with more accuracy with the learning rate 4, and with more correlation with 8.

    Of 24 rows, 18 are glad. With 4, the answer is always glad: an accuracy of 18/24, no correlation. With 8, all 6 sad
    rows and 8 glad rows are answered sad: an accuracy of 16/24.
    """

    def predict(self, job: Job, table: Any) -> np.ndarray:
        gold = _is_glad(table)
        return _logits(gold & (np.cumsum(gold) > 8) if job.fit.recipe.lr == 8 else np.ones_like(gold))


class SplitDependent(Chancy):
    """Answers the first dev split best with the learning rate 4, and the second dev split much better with 8."""

    RIGHT: ClassVar = {("near", 4): 15, ("near", 8): 5, ("far", 4): 0, ("far", 8): 24}

    def predict(self, job: Job, table: Any) -> np.ndarray:
        split = "near" if table.num_rows == 20 else "far"
        gold = _is_glad(table)
        right = np.arange(len(gold)) < self.RIGHT[split, round(job.fit.recipe.lr)]
        return _logits(np.where(right, gold, ~gold))


def restart_dependent(folder: Path) -> Runner:
    """Return a runner whose task is fitted by `RestartDependent`."""
    return runner(folder, register_methods=[RestartDependent()], register_tasks=[mood(method="chancy")])


def metric_dependent(folder: Path) -> Runner:
    """Return a runner whose task is fitted by `MetricDependent`; 18 of the 24 rows of dev are glad."""
    made = runner(folder, register_methods=[MetricDependent()], register_tasks=[mood(method="chancy")])
    rows = [f"row {number}\t{'sad' if number % 4 == 0 else 'glad'}\n" for number in range(24)]
    (folder / "data" / "mood" / "dev.tsv").write_text("text\tmood\n" + "".join(rows))
    return made


def split_dependent(folder: Path, **changes: Any) -> Runner:
    """Return a runner whose task is fitted by `SplitDependent`: the dev split `near` has 20 rows, `far` has 24."""
    splits = mood().splits
    near = Split("dev", (TextTable("mood/near.tsv", {"a": "text", "label": "mood"}),))
    task = mood(method="chancy", splits={"train": splits["train"], "near": near, "far": splits["dev"]}, **changes)
    made = runner(folder, register_methods=[SplitDependent()], register_tasks=[task])
    lines = (folder / "data" / "mood" / "dev.tsv").read_text().splitlines(keepends=True)
    (folder / "data" / "mood" / "near.tsv").write_text("".join(lines[:21]))
    return made
