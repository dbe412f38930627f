"""Predictions of a study: noted by id while a study runs, and read from the run folders when the study is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, final

from benchrunner.errors import Diverged, FitError, RequestError, first_line
from benchrunner.fits.fit import Fit, Record
from benchrunner.metrics import Score
from benchrunner.runs.predicting import Predicted, predict
from benchrunner.runs.runner import Runner

Key = tuple[str, str, str]
"""Id of a fit, name of a task and name of a split."""
OfFits = Mapping[str, Mapping[str, str]]
"""Id of a fit -> name of a split -> id of a prediction, or the reason why there is none."""


class Predictions(Protocol):
    """An object that gives the predictions of fits: computed by a runner, or the kept ones of a study."""

    def predict(self, fit: Fit, split: str) -> Predicted:
        """Return the fit's answers to a split, with their scores."""


@final
@dataclass(frozen=True)
class PredictionIds:
    """The predictions that the scores of a study come from. Two tasks may share a fit."""

    found: dict[Key, str] = field(default_factory=dict)
    """Ids of predictions."""
    failed: dict[Key, str] = field(default_factory=dict)
    """Reasons why there is no prediction."""


@final
class NotedPredictions:
    """Predicts with a runner and notes the id of every prediction."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.ids = PredictionIds()

    def predict(self, fit: Fit, split: str) -> Predicted:
        """Return the fit's answers to a split, computed if they are not kept yet."""
        key = (fit.id, fit.task, split)
        try:
            predicted = predict(fit, split, self._runner)
        except (FitError, RequestError) as error:
            self.ids.failed[key] = first_line(error)
            raise
        self.ids.found[key] = predicted.folder.name
        return predicted

    def with_dev(self, fit: Fit, record: Record) -> Record:
        """Predict dev if a fit is done; if that fails, return a record that says so, so that the study goes on."""
        if record.status != "done":
            return record
        try:
            for split in self._runner.plugins.tasks.find(fit.task).named("dev"):
                self.predict(fit, split)
        except (FitError, RequestError) as error:  # for example, its max_length is too short for a question of dev
            return replace(record, status="diverged" if isinstance(error, Diverged) else "failed", reason=str(error))
        return record


@final
class KeptPredictions:
    """Reads predictions of one task from the runs folder, each record once. Needs neither data nor backbones."""

    def __init__(
        self, runner: Runner, found: OfFits = MappingProxyType({}), failed: OfFits = MappingProxyType({})
    ) -> None:
        self._runner, self._found, self._failed = runner, found, failed
        self._records = dict[Path, Record | None]()

    def has(self, fit: Fit, split: str) -> bool:
        """Return whether the predictions of the fit on a split are kept."""
        return self._find(fit, split) is not None

    def predict(self, fit: Fit, split: str) -> Predicted:
        """Return the kept answers of a fit to a split; raise a `FitError` if there are none."""
        path = self._find(fit, split)
        record = None if path is None else self._record(fit, path)
        if path is None or record is None:
            reason = self._failed.get(fit.id, {}).get(split)
            raise FitError(reason or f"The fit {fit.id} has no kept prediction of {fit.task} ({split}).")
        if not record.scores:
            return Predicted(record, path)  # the rows have no labels
        absent = Score(None, "the task had no such metric when the prediction was scored")
        later = {metric.name: absent for metric in self._runner.plugins.tasks.find(fit.task).metrics}
        return Predicted(replace(record, scores=later | dict(record.scores)), path)

    def _record(self, fit: Fit, folder: Path) -> Record | None:
        if folder not in self._records:
            self._records[folder] = self._runner.folder(fit).prediction_record(folder.name)
        return self._records[folder]

    def _find(self, fit: Fit, split: str) -> Path | None:
        """Return the folder of the noted prediction; without a note, of the newest prediction with tuned settings.

        Without a note, a prediction of all rows comes before one of few rows (`--limit-dev`).
        """
        folder = self._runner.folder(fit)
        if split in self._failed.get(fit.id, {}):
            return None
        if found := self._found.get(fit.id, {}).get(split):
            path = folder.prediction(found)
            return path if (path / "record.json").is_file() else None
        problem = self._runner.plugins.tasks.find(fit.task).problem
        tuned = {**problem.decoding, **folder.tuned("")}
        best_path, best_rank = None, (False, False, 0.0)
        for prediction, date, path in folder.predictions(fit.task, split):
            rank = (prediction.limit_dev is None, prediction.settings == tuned, date)
            if best_path is None or rank > best_rank:
                best_path, best_rank = path, rank
        return best_path


@final
class ReadOnce:
    """Gives the predictions of another object, and keeps each in memory, so that every file is read once."""

    def __init__(self, predictions: Predictions) -> None:
        self._predictions = predictions
        self._read: dict[tuple[str, str], Predicted] = {}

    def predict(self, fit: Fit, split: str) -> Predicted:
        """Return the fit's answers to a split; raise a `FitError` if there are none."""
        key = (fit.id, split)
        if key not in self._read:
            self._read[key] = self._predictions.predict(fit, split)
        return self._read[key]
