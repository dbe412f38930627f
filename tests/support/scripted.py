"""A method whose fits answer as a script says, so that studies search grids without training."""

from pathlib import Path
from typing import Any

import numpy as np

from benchrunner.engine import Job, Method, Outcome
from benchrunner.results import Grid, Result, Runner, Study, StudyOptions, run_study
from benchrunner.studies.planning import search_of
from inline import mood, runner, study_with

SEARCHED = ("search", "trials", "early_stop")


class Scripted(Method):
    """Answers as many rows of dev rightly as a function of the recipe and the seed says; notes what it fits."""

    name = "scripted"
    about = "for tests"

    def __init__(self, right: Any) -> None:
        self._right = right
        self.fitted = list[tuple[float, int, int]]()

    def fit(self, job: Job) -> Outcome:
        self.fitted.append((job.fit.recipe.lr, job.fit.recipe.epochs, job.fit.seed))
        job.model.mkdir(parents=True)
        assert job.backbone is not None
        job.backbone.load(job.workspace, seed=0).save(job.model)
        return Outcome()

    def predict(self, job: Job, table: Any) -> np.ndarray:
        gold = table.column("label").to_pylist()
        right = self._right(job.fit.recipe.lr, job.fit.recipe.epochs, job.fit.seed)
        is_glad = [(label == "glad") == (number < right) for number, label in enumerate(gold)]
        return np.array([[glad, not glad] for glad in is_glad], dtype=np.float32)


def scripted(folder: Path, right: Any) -> tuple[Runner, Scripted]:
    method = Scripted(right)
    return runner(folder, register_methods=[method], register_tasks=[mood(method="scripted")]), method


def study_of(made: Runner, names: Any = ("words",), **choices: Any) -> Study:
    """Compare backbones on all tasks; `lr` and `epochs` make a grid, and the options of searches choose from it."""
    grid = Grid({name: choices.pop(name) for name in ("lr", "epochs") if name in choices})
    searched = {name: choices.pop(name) for name in SEARCHED if name in choices}
    values = StudyOptions.named(searched, {}, made.plugins).search
    search = search_of(made.plugins).choice(values, made.plugins)
    return study_with(names, tuple(made.plugins.tasks.values()), grid=grid, search=search, **choices)


def run(made: Runner, *, limit: str | None = None, **choices: Any) -> Result:
    return run_study(study_of(made, **choices), made, limit=limit)


def lengths(result: Result) -> list[int]:
    """Return the epochs of the grid points that were trained."""
    return [point.recipe.epochs for point in result.cells[0].cell.candidates]
