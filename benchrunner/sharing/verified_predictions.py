"""Predictions of a shared folder, scored again with the verifier's own rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, final

from benchrunner.errors import FitError, described
from benchrunner.fits.fit import Fit, Prediction, Record
from benchrunner.io.decoding import as_json, from_json
from benchrunner.io.file_faults import quoted
from benchrunner.metrics import Score
from benchrunner.runs.predicting import MAJORITY, Predicted, judged
from benchrunner.sharing.answer_files import read_answers
from benchrunner.sharing.comparing import value_differences
from benchrunner.sharing.contents import STUDY, prediction_name, scores_json
from benchrunner.sharing.data_checks import OwnData
from benchrunner.sharing.rebuilding import checked_id, understood
from benchrunner.sharing.received_folder import ReceivedFolder, UnreadableFile


@final
class VerifiedPredictions:
    """Scores the predictions of a folder again. What differs from the folder is kept in `differences`."""

    def __init__(
        self,
        folder: ReceivedFolder,
        data: OwnData,
        fits: Mapping[str, Fit],
        index: Mapping[str, Any],
        majority: Mapping[str, Any],
    ) -> None:
        """Take the folder, the verifier's data, and the fits of the folder.

        `index` maps the id of a fit, the name of a task and the name of a split to the id of the prediction. `majority`
        maps the id of a fit and the name of a task to the fit of the majority answer of its training rows.
        """
        self._folder, self._data, self._fits, self._index, self._majority = folder, data, fits, index, majority
        self.differences: list[str] = []
        self.scores = 0
        """Number of scores that were computed again."""
        self.answers = 0
        """Number of answers that were scored again."""
        self._records: dict[tuple[str, str, str], Record | None] = {}

    def predict(self, fit: Fit, split: str) -> Predicted:
        """Return the record of a prediction with scores that were computed again; selection asks for nothing else."""
        record = self.record(fit.id, fit.task, split)
        if record is None:
            raise FitError(f"the answers of {fit.id} to {fit.task} ({split}) could not be verified")
        return Predicted(record, self._folder.path)

    def record(self, fit: str, task: str, split: str) -> Record | None:
        """Return the record of a prediction, scored again; None if that is not possible."""
        key = (fit, task, split)
        if key not in self._records:
            self._records[key] = None  # a folder may name a fit as its own majority
            try:
                with understood(f"the prediction of {fit} on {quoted(task)} ({quoted(split)})"):
                    self._records[key] = self._scored(fit, task, split)
            except UnreadableFile as difference:
                self.differences.append(str(difference))
        return self._records[key]

    def _scored(self, fit: str, task_name: str, split: str) -> Record | None:
        task, rows = self._data.tasks.get(task_name), self._data.rows(task_name, split)
        if task is None or rows is None:
            return None
        prediction_id = self._index.get(fit, {}).get(task_name, {}).get(split)
        if prediction_id is None:
            raise UnreadableFile(f"{fit} on {task_name} ({split}): there are no answers in the folder.")
        name = prediction_name(checked_id(prediction_id))
        data = self._folder.json_object(name)
        with understood(name):
            prediction = from_json(Prediction, data["prediction"], "prediction")
            if prediction.id != prediction_id or (prediction.fit, prediction.task, prediction.split) != (
                fit,
                task_name,
                split,
            ):
                raise UnreadableFile(f"{name} is not the prediction {prediction_id} of {fit}: the file was edited.")
        answers, figures = read_answers(self._folder, prediction_id, len(rows), task.problem)
        baseline = self._baseline(fit, task_name, split)
        try:
            record = judged(prediction, task, rows, answers, figures, timings={}, baseline=baseline)
        except Exception as error:  # metrics and problems of plugins may fail in any way on edited answers
            raise UnreadableFile(f"{name}: the answers cannot be scored: {quoted(described(error), 200)}.") from None
        self.scores, self.answers = self.scores + len(record.scores), self.answers + len(answers)
        with understood(name):
            claimed: dict[str, Any] = {"scores": data["scores"], "flags": data["flags"]}
            computed = {"scores": scores_json(record.scores), "flags": list(record.flags)}
            place = f"predictions/{prediction_id} ({task_name}, {split})"
            self.differences += value_differences(claimed, computed, (place,))
        return record

    def _baseline(self, fit: str, task: str, split: str) -> Callable[[], Mapping[str, Score]] | None:
        """Return what gives the scores of the majority answer; None for the fit of a majority answer itself."""
        if fit in self._fits and self._fits[fit].method == MAJORITY:
            return None
        if (majority := self._majority.get(fit, {}).get(task)) is None:
            raise UnreadableFile(f"{STUDY} does not say with which majority answer the fit {fit} is compared.")
        if majority not in self._fits or self._fits[majority].method != MAJORITY:
            raise UnreadableFile(f"the fit {majority} is not that of a majority answer, with which {fit} is compared.")

        def scores() -> Mapping[str, Score]:
            record = self.record(majority, task, split)
            if record is None:
                raise UnreadableFile(f"the majority answer of {task} ({split}) could not be verified")
            return record.scores

        return scores


def prediction_json(prediction: Prediction, record: Record) -> dict[str, Any]:
    """Return the content of the file of a prediction."""
    return {
        "prediction": as_json(prediction),
        "scores": scores_json(record.scores),
        "flags": list(record.flags),
    }
