"""Answers of a shared folder, scored with the verifier's own rows; majority answers are computed from these rows."""

from __future__ import annotations

from dataclasses import replace
from typing import final

from benchrunner import Rows, Task, quoted
from benchrunner.engine import decoding
from benchrunner.results import CellResult, Fit, Prediction, Record, predicting
from benchrunner_share.documents.contents import are_sealed, prediction_name
from benchrunner_share.documents.plan import Index, answered
from benchrunner_share.verifying.answer_files import Answered, read_answers
from benchrunner_share.verifying.data_checks import OwnData
from benchrunner_share.verifying.findings import understood
from benchrunner_share.verifying.received_folder import ReceivedFolder, UnreadableFile

Key = tuple[str, str, str]
"""Id of a fit, name of a task, and name of a split."""
Scored = tuple[Prediction, Record]


@final
class ReceivedAnswers:
    """The answers of a folder. Everything that fails is an `UnreadableFile`."""

    def __init__(self, folder: ReceivedFolder, data: OwnData, index: Index) -> None:
        """Take the folder, the verifier's data, and the ids of the predictions in the folder."""
        self._folder = folder
        self._data = data
        self._index = index
        self.scored = dict[Key, Scored]()
        """All predictions that were scored, by fit, task and split."""
        self._opened = dict[Key, Record]()
        self._read = dict[str, Answered]()
        self.scores = 0
        """Number of scores that were computed."""
        self.answers = 0
        """Number of answers that were scored."""

    def find(self, fit: Fit, task: Task, split: str) -> predicting.Predicted:
        """Return the answers of a fit to a split with their scores; raise an `UnreadableFile` if there are none."""
        key = (fit.id, task.name, split)
        with understood(f"the prediction of {fit.id} on {quoted(task.name)} ({quoted(split)})"):
            if key not in self.scored:
                self.scored[key] = self._score(fit, task, split)
            prediction, record = self.scored[key]
            return predicting.Predicted(record, self._folder.path, self._answers(prediction, task)[0])

    def opened(self, fit: Fit, task: Task, split: str) -> predicting.Predicted | None:
        """Return a prediction with scores by labels that are here, and were not where the answers were given.

        None for other splits.
        """
        rows = self._data.labelled(task, split)
        if rows is None:
            return None
        predicted = self.find(fit, task, split)
        key = (fit.id, task.name, split)
        if key not in self._opened:
            prediction, _ = self.scored[key]
            answers, figures = self._answers(prediction, task)
            try:
                scores = task.scores(rows.table, answers, figures)
            except Exception as error:  # as in `_judged`; the message may quote labels, which stay here
                name = prediction_name(prediction.id)
                raise UnreadableFile(f"{name}: the answers cannot be scored ({type(error).__name__}).") from None
            self.scores = self.scores + len(scores)
            self._opened[key] = replace(predicted.record, scores=scores)
        return replace(predicted, record=self._opened[key])

    def majority(self, fit: Fit, task: Task, split: str) -> predicting.Predicted:
        """Return the answers of the majority of the own training rows, of as many as a fit learned from."""
        return self._data.majority.predicted(task, fit.recipe, split)

    def forget(self) -> None:
        """Forget the answers that were read, but not their scores."""
        self._read.clear()

    def _answers(self, prediction: Prediction, task: Task) -> Answered:
        """Read the answers of a prediction with their further figures; they stay in memory until `forget`."""
        if prediction.id not in self._read:
            rows = self._data.rows(task.name, prediction.split)
            self._read[prediction.id] = read_answers(self._folder, prediction.id, len(rows), task.problem)
        return self._read[prediction.id]

    def _score(self, fit: Fit, task: Task, split: str) -> Scored:
        rows = self._data.rows(task.name, split)
        prediction = self._prediction(fit, task, split)
        if (prediction.data, prediction.limit_dev) != (rows.fingerprint, rows.limit):
            raise UnreadableFile(f"{prediction_name(prediction.id)} answers other rows than those of {rows.origin}.")
        record = self._judged(fit, task, prediction, rows)
        self.scores = self.scores + len(record.scores)
        self.answers = self.answers + len(rows)
        return prediction, record

    def _prediction(self, fit: Fit, task: Task, split: str) -> Prediction:
        """Read the plan of a prediction; its decoding settings are a claim."""
        prediction_id = self._index.get(fit.id, {}).get(task.name, {}).get(split)
        if prediction_id is None:
            raise UnreadableFile(f"{fit.id} on {task.name} ({split}): there are no answers in the folder.")
        name = prediction_name(prediction_id)
        data = self._folder.json_object(name)
        prediction = decoding.from_json(Prediction, data["prediction"], name, UnreadableFile)
        expected = (prediction_id, fit.id, task.name, split)
        if (prediction.id, prediction.fit, prediction.task, prediction.split) != expected:
            raise UnreadableFile(f"{name} is not the prediction {prediction_id} of {fit.id}: the file was edited.")
        return prediction

    def _judged(self, fit: Fit, task: Task, prediction: Prediction, rows: Rows) -> Record:
        """Score the answers of the folder with the verifier's rows."""
        answers, figures = self._answers(prediction, task)
        majority = self.majority(fit, task, prediction.split)  # its faults are not those of metrics
        name = prediction_name(prediction.id)
        if fit.method == predicting.MAJORITY and answers != majority.answers:
            raise UnreadableFile(f"{name}: the answers are not those of the majority of the training rows here.")
        scores = {} if are_sealed(rows, task) else majority.record.scores
        baseline = None if fit.method == predicting.MAJORITY else lambda: scores
        try:
            return predicting.judged(prediction, task, rows, answers, figures, timings={}, baseline=baseline)
        except Exception as error:  # metrics and problems of plugins may fail in any way on edited answers
            reason = quoted(f"{type(error).__name__}: {error}", 200)
            raise UnreadableFile(f"{name}: the answers cannot be scored: {reason}.") from None


@final
class CellAnswers:
    """The answers to one task, as the selection asks for them."""

    def __init__(self, answers: ReceivedAnswers, task: Task, *, opened: bool = False) -> None:
        """`opened`: use gold labels that are here and that the sender did not have, where there are any."""
        self._answers = answers
        self._task = task
        self._opened = opened
        self._kept = dict[tuple[str, str], predicting.Predicted]()

    def keep(self, result: CellResult) -> CellAnswers:
        """Keep the answers in memory that figures come from: those of the restarts of the selected grid point."""
        for fit, split in answered(result):
            if fit in result.restarts:
                self._kept[fit.id, split] = self.predict(fit, split)
        return self

    def predict(self, fit: Fit, split: str) -> predicting.Predicted:
        """Return a prediction that was scored here."""
        if (fit.id, split) in self._kept:
            return self._kept[fit.id, split]
        if self._opened and (opened := self._answers.opened(fit, self._task, split)) is not None:
            return opened
        return self._answers.find(fit, self._task, split)
