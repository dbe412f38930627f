"""Reads the kept answers of a study, which are the facts of a shared folder."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

from benchrunner import FitError
from benchrunner.results import CellResult, Fit, Prediction, Runner, predicting, read_prediction
from benchrunner_share.documents.contents import answers_text
from benchrunner_share.documents.plan import SharedFit, answered
from benchrunner_share.private_texts import Private
from benchrunner_statistics import kept_figures


@final
@dataclass(frozen=True)
class KeptAnswers:
    """The answers that fits have given to the rows as the data has them now. Reading them needs no backbone."""

    runner: Runner
    private: Private

    def newest(self, results: Iterable[CellResult]) -> datetime.datetime:
        """Return when the newest answers to dev of some cells were given. Sharing again does not change this date."""
        dates = [0.0]
        for result in results:
            for fit, split in answered(result):
                if split in result.cell.task.named("dev"):
                    dates.append((result.predicted(fit, split).folder / "record.json").stat().st_mtime)
        return datetime.datetime.fromtimestamp(max(dates), datetime.UTC)

    def prediction(self, result: CellResult, fit: Fit, split: str) -> Prediction:
        """Return what a fit of a cell answered; raise a `FitError` if the rows of the split are others now."""
        task = result.cell.task
        prediction = read_prediction(result.predicted(fit, split).folder)
        rows = self.runner.planner.rows(task, split)
        if prediction.data != rows.fingerprint:
            raise FitError(
                f"The fit {fit.id} has no kept answers to {task.name} ({split}) as {rows.origin} is now. Repeat the "
                "command of the study, then share it again."
            )
        return prediction

    def text(self, result: CellResult, fit: Fit, split: str) -> str:
        """Return the answers of a fit of a cell as `share` writes them; they do not stay in memory."""
        task, kept = result.cell.task, result.predicted(fit, split)
        figures: Mapping[str, list[Any]] = {}
        if task.scores_extra_figures:
            figures = kept_figures(fit, self.runner.planner.rows(task, split), self.runner)
        try:
            return answers_text(predicting.Predicted(kept.record, kept.folder).answers, figures)
        except ValueError as error:  # JSON has no NaN
            raise FitError(f"The answers of the fit {fit.id} cannot be shared: {error}.") from None

    def shared(self, fit: Fit) -> SharedFit:
        """Return a fit with how it was computed; without, if it has no record."""
        record = self.runner.folder(fit).record()
        if record is None:
            return SharedFit(fit, {}, {})
        return SharedFit(fit, dict(record.timings), self.private.without_in(dict(record.numerics)))
