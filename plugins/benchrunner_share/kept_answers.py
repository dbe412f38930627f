"""Finds the kept answers of fits, which are the facts of a shared folder."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner import FitError, Rows, Task
from benchrunner.results import CellResult, Fit, Prediction, Record, Runner, predicting
from benchrunner_share.documents.contents import Figures, answers_text
from benchrunner_share.documents.plan import SharedFit, answered
from benchrunner_share.private_texts import Private


@final
@dataclass(frozen=True)
class Kept:
    """A kept prediction, without its answers."""

    date: float
    """When it was given, in seconds since 1970."""
    prediction: Prediction
    record: Record
    folder: Path


@final
class KeptAnswers:
    """The answers that fits have given to the rows as the data has them now. Reading them needs no backbone."""

    def __init__(self, runner: Runner, private: Private) -> None:
        self.runner = runner
        self.private = private
        self._rows: dict[tuple[str, str], Rows] = {}
        self._found: dict[tuple[str, str, str], Kept] = {}

    def rows(self, task: Task, split: str) -> Rows:
        """Load the rows of a split once."""
        key = (task.name, split)
        if key not in self._rows:
            self._rows[key] = self.runner.planner.rows(task, split)
        return self._rows[key]

    def find(self, fit: Fit, task: Task, split: str) -> Kept:
        """Return the newest kept prediction of a fit on a split, if possible one with the tuned settings.

        Raises a `FitError` if there is none.
        """
        key = (fit.id, task.name, split)
        if key not in self._found:
            kept = self._newest(fit, task, split)
            if kept is None:
                raise FitError(
                    f"The fit {fit.id} has no kept answers to {task.name} ({split}) as "
                    f"{self.rows(task, split).origin} is now. Repeat the command of the study, then share it again."
                )
            self._found[key] = kept
        return self._found[key]

    def newest(self, results: Iterable[CellResult]) -> datetime.datetime:
        """Return when the newest answers to dev of some cells were given. Sharing again does not change this date."""
        dates = [0.0]
        for result in results:
            for fit, split in answered(result):
                if split in result.cell.task.named("dev"):
                    dates.append(self.find(fit, result.cell.task, split).date)
        return datetime.datetime.fromtimestamp(max(dates), datetime.UTC)

    def _newest(self, fit: Fit, task: Task, split: str) -> Kept | None:
        """Read the newest kept prediction, if possible one with the tuned settings; return None if there is none."""
        folder = self.runner.folder(fit)
        rows = self.rows(task, split)
        tuned = {**task.problem.decoding, **folder.tuned("")}
        kept = []
        for prediction, date, path in folder.predictions(task.name, split):
            if prediction.data != rows.fingerprint:
                continue
            record = folder.prediction_record(prediction.id)
            if record is not None:
                kept.append(Kept(date, prediction, record, path))
        return max(kept, key=lambda each: (each.prediction.settings == tuned, each.date), default=None)

    def text(self, fit: Fit, kept: Kept, task: Task) -> str:
        """Return the answers of a prediction as `share` writes them."""
        answers = predicting.Predicted(kept.record, kept.folder).answers
        figures = self._figures(fit, task, kept.prediction)
        try:
            return answers_text(answers, figures)
        except ValueError as error:  # JSON has no NaN
            raise FitError(f"The answers of the fit {fit.id} cannot be shared: {error}.") from None

    def _figures(self, fit: Fit, task: Task, prediction: Prediction) -> Figures:
        """Return the figures from which some metrics are computed, such as probabilities; usually empty."""
        if not task.scores_extra_figures:
            return {}
        if fit.method != predicting.MAJORITY and not any((self.runner.folder(fit).path / "outputs").glob("*.npy")):
            raise FitError(
                f"The fit {fit.id} has no kept outputs, from which metrics of {task.name} are computed. Repeat the "
                "command of the study, then share it again."
            )
        rows = self.rows(task, prediction.split)
        outputs = predicting.raw_outputs(fit, rows, self.runner)
        return task.problem.extra_figures(outputs, rows.table, prediction.settings)

    def shared(self, fit: Fit) -> SharedFit:
        """Return a fit with how it was computed; without, if it has no record."""
        record = self.runner.folder(fit).record()
        if record is None:
            return SharedFit(fit, {}, {})
        return SharedFit(fit, dict(record.timings), self.private.without_in(dict(record.numerics)))
