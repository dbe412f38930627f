"""Answers of a shared folder, scored again with the verifier's own rows; majority answers are computed anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from benchrunner import FitError, Rows, Score, Task, quoted
from benchrunner.engine import decoding
from benchrunner.results import CellResult, Fit, Prediction, Record, predicting
from benchrunner_share.documents.claims import checked_texts
from benchrunner_share.documents.contents import STUDY, Figures, are_sealed, fit_name, prediction_name
from benchrunner_share.documents.study_documents import Computation
from benchrunner_share.verifying.answer_files import read_answers
from benchrunner_share.verifying.data_checks import OwnData
from benchrunner_share.verifying.rebuilding import checked_id, understood
from benchrunner_share.verifying.received_folder import ReceivedFolder, UnreadableFile

LONGEST_SECONDS = 1e9
"""Longest time that a folder may claim for a part of a fit: 30 years."""
Scored = tuple[Prediction, Record]


@final
class ReceivedAnswers:
    """The answers of a folder, for the documents that are built anew. Everything that fails is an `UnreadableFile`."""

    def __init__(
        self, folder: ReceivedFolder, data: OwnData, fits: Mapping[str, Fit], content: Mapping[str, Any]
    ) -> None:
        """Take the folder, the verifier's data, the fits of the folder by id, and the content of its study."""
        self._folder = folder
        self._data = data
        self._fits = fits
        self._content = content
        self._scored: dict[tuple[str, str, str], Scored | UnreadableFile] = {}
        self._opened: dict[tuple[str, str, str], Record] = {}
        self._read: dict[str, tuple[list[Any], Figures]] = {}
        self.scores = 0
        """Number of scores that were computed again."""
        self.answers = 0
        """Number of answers that were scored again."""

    def rows(self, task: Task, split: str) -> Rows:
        """Return the verifier's rows of a split."""
        rows = self._data.rows(task.name, split)
        if rows is None:
            raise UnreadableFile(f"{quoted(task.name)} ({quoted(split)}) has no rows here")
        return rows

    def find(self, fit: Fit, task: Task, split: str) -> tuple[Prediction, predicting.Predicted]:
        """Return a prediction with its answers: those of the folder, or the majority answers of the own rows."""
        prediction, record = self.scored(fit, task, split)
        if fit.method == predicting.MAJORITY:
            answers = self.opened_majority(fit, task, split).answers
        else:
            answers, _ = self._answers(prediction, task)
        return prediction, predicting.Predicted(record, self._folder.path, answers)

    def figures(self, fit: Fit, task: Task, prediction: Prediction) -> Figures:
        """Return the figures beside the answers of the folder, or those of the majority answer."""
        if not task.scores_extra_figures:
            return {}
        rows = self.rows(task, prediction.split)
        if fit.method == predicting.MAJORITY:
            outputs = predicting.raw_outputs(self._own_majority(fit, task), rows, self._data.runner)
            return task.problem.extra_figures(outputs, rows.table, prediction.settings)
        return self._answers(prediction, task)[1]

    def _answers(self, prediction: Prediction, task: Task) -> tuple[list[Any], Figures]:
        """Read the answers of a prediction with their further figures; they stay in memory until `forget`."""
        if prediction.id not in self._read:
            rows = self.rows(task, prediction.split)
            self._read[prediction.id] = read_answers(self._folder, prediction.id, len(rows), task.problem)
        return self._read[prediction.id]

    def forget(self) -> None:
        """Forget the answers that were read, but not their scores."""
        self._read.clear()

    def computation(self, fit: Fit) -> Computation:
        """Return how a fit was computed, as the folder claims."""
        name = fit_name(fit.id)
        data = self._folder.json_object(name)
        with understood(name):
            timings, numerics = data["timings"], data["numerics"]
            checked_texts([timings, numerics, data["fit"]["suppliers"]])
            if not isinstance(numerics, dict) or not all(map(_is_duration, timings.values())):
                raise UnreadableFile(f"{name}: timings are seconds by name, and numerics are facts by name.")
            return Computation(timings, numerics)

    def majority(self, fit: Fit, task: Task, splits: Sequence[str]) -> Fit:
        """Return the majority answer that the folder names for a fit; it must be that of the verifier's own rows."""
        claimed = self._content["majority"].get(fit.id, {}).get(task.name)
        if claimed is None:
            raise UnreadableFile(f"{STUDY} does not say with which majority answer the fit {fit.id} is compared.")
        majority = self._fits.get(checked_id(claimed))
        if majority is None or majority.method != predicting.MAJORITY:
            raise UnreadableFile(
                f"the fit {claimed} is not that of a majority answer, with which {fit.id} is compared."
            )
        own = self._own_majority(fit, task)
        if replace(own, suppliers=majority.suppliers).id != majority.id:
            raise UnreadableFile(
                f"the majority answer {majority.id} is not that of the training rows here, with which {fit.id} is "
                "compared."
            )
        return majority

    def _own_majority(self, fit: Fit, task: Task) -> Fit:
        """Plan the majority fit of the verifier's own training rows, of as many as a fit of the folder learned from."""
        return self._data.majority.fit(task, fit.recipe)

    def opened_majority(self, fit: Fit, task: Task, split: str) -> predicting.Predicted:
        """Return the majority answer of a fit's training rows, scored by labels that are here."""
        return self._data.majority.predicted(self._own_majority(fit, task), split)

    def scored(self, fit: Fit, task: Task, split: str) -> Scored:
        """Return a prediction and its record, scored again once; raise an `UnreadableFile` if that is not possible."""
        key = (fit.id, task.name, split)
        if key not in self._scored:
            try:
                with understood(f"the prediction of {fit.id} on {quoted(task.name)} ({quoted(split)})"):
                    self._scored[key] = self._score(fit, task, split)
            except UnreadableFile as fault:
                self._scored[key] = fault
        scored = self._scored[key]
        if isinstance(scored, UnreadableFile):
            raise scored
        return scored

    def _score(self, fit: Fit, task: Task, split: str) -> Scored:
        rows = self.rows(task, split)
        data = self._content["data"][task.name][split]["fingerprint"]
        if fit.method == predicting.MAJORITY:
            predicted = self.opened_majority(fit, task, split)
            settings = predicting.decoding_settings(self._own_majority(fit, task), self._data.runner)
            scoring = self._prediction(fit, task, split).scoring  # other versions score otherwise
            prediction = Prediction(fit.id, task.name, split, data, dict(settings), scoring, rows.limit)
            scores = {} if are_sealed(rows, task) else predicted.record.scores
            record = replace(predicted.record, id=prediction.id, scores=scores)
        else:
            prediction = self._prediction(fit, task, split)
            if (prediction.data, prediction.limit_dev) != (data, rows.limit):
                raise UnreadableFile(f"{prediction_name(prediction.id)} answers other rows than {STUDY} says.")
            record = self._judged(fit, task, prediction, rows)
        self.scores = self.scores + len(record.scores)
        self.answers = self.answers + len(rows)
        return prediction, record

    def opened(self, fit: Fit, task: Task, split: str) -> predicting.Predicted | None:
        """Return a prediction with scores by labels that are here, and were not where the answers were given.

        None for other splits.
        """
        rows = self._data.labelled(task, split)
        if rows is None:
            return None
        key = (fit.id, task.name, split)
        prediction, predicted = self.find(fit, task, split)
        if key not in self._opened:
            figures = self.figures(fit, task, prediction)
            try:
                scores = task.scores(rows.table, predicted.answers, figures)
            except Exception as error:  # as in `_judged`; the message may quote labels, which stay here
                name = prediction_name(prediction.id)
                raise UnreadableFile(f"{name}: the answers cannot be scored ({type(error).__name__}).") from None
            self.scores = self.scores + len(scores)
            self._opened[key] = replace(predicted.record, scores=scores)
        return replace(predicted, record=self._opened[key])

    def _prediction(self, fit: Fit, task: Task, split: str) -> Prediction:
        """Read the plan of a prediction; its decoding settings are a claim."""
        prediction_id = self._content["predictions"].get(fit.id, {}).get(task.name, {}).get(split)
        if prediction_id is None:
            raise UnreadableFile(f"{fit.id} on {task.name} ({split}): there are no answers in the folder.")
        name = prediction_name(checked_id(prediction_id))
        data = self._folder.json_object(name)
        with understood(name):
            prediction = decoding.from_json(Prediction, data["prediction"], "prediction")
        expected = (prediction_id, fit.id, task.name, split)
        if (prediction.id, prediction.fit, prediction.task, prediction.split) != expected:
            raise UnreadableFile(f"{name} is not the prediction {prediction_id} of {fit.id}: the file was edited.")
        return prediction

    def _judged(self, fit: Fit, task: Task, prediction: Prediction, rows: Rows) -> Record:
        """Score the answers of the folder with the verifier's rows."""
        answers, figures = self._answers(prediction, task)

        def baseline() -> Mapping[str, Score]:
            majority = self.majority(fit, task, [prediction.split])
            return self.scored(majority, task, prediction.split)[1].scores

        baseline()  # its faults are not those of metrics
        try:
            return predicting.judged(prediction, task, rows, answers, figures, timings={}, baseline=baseline)
        except Exception as error:  # metrics and problems of plugins may fail in any way on edited answers
            reason = quoted(f"{type(error).__name__}: {error}", 200)
            name = prediction_name(prediction.id)
            raise UnreadableFile(f"{name}: the answers cannot be scored: {reason}.") from None


def _is_duration(value: Any) -> bool:
    return type(value) in (int, float) and bool(0 <= value <= LONGEST_SECONDS)


@final
class CellAnswers:
    """The answers to one task, as the selection asks for them."""

    def __init__(self, answers: ReceivedAnswers, task: Task, *, opened: bool = False) -> None:
        """`opened`: use gold labels that are here and that the sender did not have, where there are any."""
        self._answers = answers
        self._task = task
        self._opened = opened

    def predict(self, fit: Fit, split: str) -> predicting.Predicted:
        """Return the record of a prediction that was scored again; selection asks for nothing else."""
        if self._opened and (opened := self._answers.opened(fit, self._task, split)) is not None:
            return opened
        _, record = self._answers.scored(fit, self._task, split)
        return predicting.Predicted(record, Path())


@final
@dataclass(frozen=True)
class VerifiedAnswers:
    """The verified predictions of a cell, with the answers of the fits that figures come from, kept in memory."""

    records: Mapping[tuple[str, str], predicting.Predicted]
    """Id of a fit and name of a split -> the prediction."""

    @classmethod
    def of_cell(cls, result: CellResult, answers: ReceivedAnswers) -> VerifiedAnswers:
        """Keep the verified predictions of a cell, and the answers of the restarts of the selected grid point."""
        task = result.cell.task
        restarts = {fit.id for fit in result.restarts}
        records = {}
        for fit in result.cell.fits:
            for split in result.cell.scored_splits if fit.id in restarts else task.named("dev"):
                if fit.id in restarts:
                    opened = answers.opened(fit, task, split)
                    records[fit.id, split] = opened or answers.find(fit, task, split)[1]
                elif fit.id not in result.lost:
                    records[fit.id, split] = predicting.Predicted(answers.scored(fit, task, split)[1], Path())
        return cls(records)

    def predict(self, fit: Fit, split: str) -> predicting.Predicted:
        """Return a prediction of a split."""
        if (fit.id, split) not in self.records:
            raise FitError(f"The answers of the fit {fit.id} to {split} were not verified.")
        return self.records[fit.id, split]
