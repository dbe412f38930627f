"""Finds the kept answers of fits, and those of the majority answers that the fits are compared with."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner import FitError, Rows, Task
from benchrunner.results import CellResult, Fit, Prediction, Record, Runner, predict, predicting
from benchrunner_share.documents.contents import Figures
from benchrunner_share.documents.study_documents import Computation
from benchrunner_share.private_texts import Private


@final
@dataclass(frozen=True)
class _Kept:
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
        self._runner = runner
        self._private = private
        self._rows: dict[tuple[str, str], Rows] = {}
        self._found: dict[tuple[str, str, str], _Kept] = {}
        self._majority: dict[tuple[object, ...], Fit] = {}
        self._kept_majority: list[Fit] | None = None

    def rows(self, task: Task, split: str) -> Rows:
        """Load the rows of a split once."""
        key = (task.name, split)
        if key not in self._rows:
            self._rows[key] = self._runner.planner.rows(task, split)
        return self._rows[key]

    def find(self, fit: Fit, task: Task, split: str) -> tuple[Prediction, predicting.Predicted]:
        """Return the newest kept prediction of a fit on a split, if possible one with the tuned settings.

        Raises a `FitError` if there is none.
        """
        kept = self._find(fit, task, split)
        if kept is None:
            raise FitError(
                f"The fit {fit.id} has no kept answers to {task.name} ({split}) as {self.rows(task, split).origin} is "
                "now. Repeat the command of the study, then share it again."
            )
        return kept.prediction, predicting.Predicted(kept.record, kept.folder)

    def newest(self, results: Iterable[CellResult]) -> datetime.datetime:
        """Return when the newest answers to dev of some cells were given. Sharing again does not change this date."""
        dates = [0.0]
        for result in results:
            task = result.cell.task
            for fit in result.cell.fits:
                for split in task.named("dev"):
                    if (kept := self._find(fit, task, split)) is not None:
                        dates.append(kept.date)
        return datetime.datetime.fromtimestamp(max(dates), datetime.UTC)

    def _find(self, fit: Fit, task: Task, split: str) -> _Kept | None:
        """Return the newest kept prediction, whose files are read once; None if there is none yet."""
        key = (fit.id, task.name, split)
        if key not in self._found:
            kept = self._newest(fit, task, split)
            if kept is None:
                return None
            self._found[key] = kept
        return self._found[key]

    def _newest(self, fit: Fit, task: Task, split: str) -> _Kept | None:
        """Read the newest kept prediction, if possible one with the tuned settings; return None if there is none."""
        folder = self._runner.folder(fit)
        rows = self.rows(task, split)
        tuned = {**task.problem.decoding, **folder.tuned("")}
        kept = []
        for prediction, date, path in folder.predictions(task.name, split):
            if prediction.data != rows.fingerprint:
                continue
            record = folder.prediction_record(prediction.id)
            if record is not None:
                kept.append(_Kept(date, prediction, record, path))
        return max(kept, key=lambda each: (each.prediction.settings == tuned, each.date), default=None)

    def figures(self, fit: Fit, task: Task, prediction: Prediction) -> Figures:
        """Return the figures from which some metrics are computed, such as probabilities; usually empty."""
        if not task.scores_extra_figures:
            return {}
        if fit.method != predicting.MAJORITY and not any((self._runner.folder(fit).path / "outputs").glob("*.npy")):
            raise FitError(
                f"The fit {fit.id} has no kept outputs, from which metrics of {task.name} are computed. Repeat the "
                "command of the study, then share it again."
            )
        rows = self.rows(task, prediction.split)
        outputs = predicting.raw_outputs(fit, rows, self._runner)
        return task.problem.extra_figures(outputs, rows.table, prediction.settings)

    def computation(self, fit: Fit) -> Computation:
        """Return how a fit was computed; empty if it has no record."""
        record = self._runner.folder(fit).record()
        if record is None:
            return Computation({}, {})
        return Computation(dict(record.timings), self._private.without_in(dict(record.numerics)))

    def majority(self, fit: Fit, task: Task, splits: Sequence[str]) -> Fit:
        """Return the fit of the majority answer that a fit is compared with.

        An update of a plugin changes the ids of fits. So a kept fit of the majority answer of the same training rows
        serves; if there is none, the majority answer is computed, which takes no training.
        """
        key = (task.name, fit.recipe.limit_train, *splits)
        if key not in self._majority:
            planned = self._runner.planner.plan(task, "", method=predicting.MAJORITY, recipe=fit.recipe)
            self._majority[key] = self._found_majority(planned, task, splits)
        return self._majority[key]

    def _found_majority(self, planned: Fit, task: Task, splits: Sequence[str]) -> Fit:
        """Return a fit of the majority answer with answers to all splits: if none has, the planned one answers now."""
        if self._kept_majority is None:
            self._kept_majority = list(predicting.majority_fits(self._runner.workspace.runs))
        for fit in (planned, *self._kept_majority):
            is_same = (fit.data, fit.problem, fit.recipe) == (planned.data, planned.problem, planned.recipe)
            if is_same and all(self._find(fit, task, split) is not None for split in splits):
                return fit
        for split in splits:
            predict(planned, split, self._runner)
        return planned
