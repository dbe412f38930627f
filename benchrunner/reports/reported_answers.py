"""Kept predictions of a study and the rows that they answer, for its report. Nothing is fitted or predicted."""

from __future__ import annotations

from typing import final

from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.runs.folder import read_prediction
from benchrunner.runs.predicting import Predicted
from benchrunner.runs.runner import Runner
from benchrunner.studies.answered_rows import AnsweredRows, answered_rows
from benchrunner.studies.kept.predictions import KeptPredictions, PredictionIds
from benchrunner.studies.predictions import Predictions
from benchrunner.studies.study import Result
from benchrunner.tasks.task import Task


@final
class ReportedAnswers:
    """Reads predictions from the runs folder, each record and each list of answers at most once."""

    def __init__(self, runner: Runner, predictions: Predictions | None = None) -> None:
        """Read the predictions that a study noted; without them, the newest predictions of each fit."""
        self._runner = runner
        self._kept = predictions or KeptPredictions(runner, PredictionIds())
        self._read: dict[tuple[str, str], Predicted] = {}

    def predict(self, fit: Fit, split: str) -> Predicted:
        """Return the kept answers of a fit to a split; raise a `FitError` if there are none."""
        key = (fit.id, split)
        if key not in self._read:
            self._read[key] = self._kept.predict(fit, split)
        return self._read[key]

    def rows(self, result: Result, task: Task, split: str) -> AnsweredRows:
        """Return the rows of a split with the kept answers of every backbone's restarts at its chosen grid point.

        Raises a `RequestError` if the data is missing or changed since the fits answered it, and a `FitError` if a fit
        has no kept answers.
        """
        fits = {backbone: result.of(backbone, task.name).restarts for backbone in backbones_of(result, task)}
        fingerprint = self._runner.planner.rows(task, split).fingerprint
        for fit in (fit for restarts in fits.values() for fit in restarts):
            home = self.predict(fit, split).folder
            if read_prediction(home).data != fingerprint:
                raise RequestError(f"The data of {task.name} ({split}) changed since the fit {fit.id} answered it.")
        return answered_rows(task, split, fits, self._runner, lambda fit, name: self.predict(fit, name).answers)


def backbones_of(result: Result, task: Task) -> list[str]:
    """Name the backbones of a result that have a cell for a task, in the order of the study."""
    present = {cell.cell.backbone for cell in result.cells if cell.cell.task.name == task.name}
    return [backbone for backbone in result.study.names if backbone in present]
