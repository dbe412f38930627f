"""A method for tests that ends and answers as it is told, and fits of the task `mood` by it or by fine-tuning."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchrunner.engine import Job, Method, Outcome
from benchrunner.results import Fit, Runner
from inline import QUICK, runner


@dataclass
class Moody(Method):
    """Does what it is told, and counts."""

    endings: list[Any] = field(default_factory=list)
    """What `fit` returns or raises, one after another; then it is done."""
    answers: Any = None
    """What `predict` returns or raises; without it the first label everywhere."""
    fitted: int = 0
    name = "moody"
    about = "for tests"
    needs_backbone = False

    def fit(self, job: Job) -> Outcome:
        self.fitted += 1
        ending = self.endings.pop(0) if self.endings else Outcome()
        if isinstance(ending, BaseException):
            raise ending
        job.model.mkdir(parents=True, exist_ok=True)
        assert isinstance(ending, Outcome)
        return ending

    def predict(self, job: Job, table: Any) -> np.ndarray:
        if isinstance(self.answers, BaseException):
            raise self.answers
        return np.tile([1.0, 0.0], (table.num_rows, 1)) if self.answers is None else self.answers


def with_method(folder: Path, method: Method, **observers: Any) -> tuple[Runner, Fit]:
    """Return a runner with this method and these observers, and a planned fit of the method."""
    made = runner(folder, register_methods=[method], **observers)
    return made, made.planner.plan(made.plugins.tasks.find("mood"), "", method=method.name)


def fine_tuned(made: Runner, **changes: Any) -> Fit:
    """Fine-tune the tiny backbone with changes of the recipe."""
    fit = made.planner.plan(made.plugins.tasks.find("mood"), "words", recipe=QUICK.changed(**changes))
    assert made.run(fit).status == "done"
    return fit
