"""Makes the documents of a shared study: `share` from the runs folder, `check` from the folder that it received."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol, final

from benchrunner import ACCURACY, FitError, Recipe, Rows, Score, Task
from benchrunner.engine import decoding
from benchrunner.results import CellResult, Fit, Plugins, Prediction, Result, cells, predicting
from benchrunner_share.documents.card_scores import CardScore, card_scores
from benchrunner_share.documents.claims import Claims, checked_texts
from benchrunner_share.documents.contents import (
    FORMAT,
    Beside,
    Figures,
    answers_name,
    answers_text,
    are_sealed,
    data_json,
    fit_name,
    prediction_json,
    prediction_name,
    result_json,
    task_json,
)
from benchrunner_share.documents.derived_files import LOGS, evaluation_logs
from benchrunner_share.documents.samples import Samples, sample_lines


@final
@dataclass(frozen=True)
class Computation:
    """How a fit was computed, without names of the machine."""

    timings: dict[str, float]
    numerics: dict[str, Any]


class Answers(Protocol):
    """Where the documents of a study take rows, answers and records from."""

    def rows(self, task: Task, split: str) -> Rows:
        """Return the rows of a split."""

    def find(self, fit: Fit, task: Task, split: str) -> tuple[Prediction, predicting.Predicted]:
        """Return the prediction of a fit on a split, with its answers and scores."""

    def figures(self, fit: Fit, task: Task, prediction: Prediction) -> Figures:
        """Return the figures from which some metrics are computed, such as probabilities; usually empty."""

    def majority(self, fit: Fit, task: Task, splits: Sequence[str]) -> Fit:
        """Return the fit of the majority answer that a fit is compared with."""

    def computation(self, fit: Fit) -> Computation:
        """Return how a fit was computed."""


@final
class StudyDocuments:
    """Makes the documents of a study.

    Its names and the reasons of lost fits must be safe to share already. Call `of_cell` for every cell, then `content`.
    """

    def __init__(self, claims: Claims, answers: Answers, plugins: Plugins) -> None:
        self._claims = claims
        self._answers = answers
        self._plugins = plugins
        self._tasks = dict[str, Task]()
        self._splits = dict[str, dict[str, None]]()
        self._index = dict[str, dict[str, dict[str, str]]]()
        self._majority = dict[str, dict[str, str]]()
        self._majority_fits = dict[tuple[str, str], Fit]()
        self._revisions = dict[str, str]()

    def of_cell(self, result: CellResult) -> Iterator[tuple[str, str]]:
        """Yield the names and texts of all fits and predictions of a cell. Several cells may share them."""
        task = result.cell.task
        tests = _scored_tests(result)
        restarts = {fit.id for fit in result.restarts}
        self._tasks[task.name] = task
        for fit in result.cell.fits:
            if fit.revision:
                self._revisions[result.cell.backbone] = fit.revision
            yield self._fit_document(fit, task, result.cell.backbone)
            splits = [*task.named("dev"), *(tests if fit.id in restarts else [])]
            self._splits.setdefault(task.name, {}).update(dict.fromkeys(splits))
            if fit.id not in result.lost:
                yield from self._predictions(fit, task, splits)
            if fit.method != predicting.MAJORITY:
                majority = self._answers.majority(fit, task, splits)
                self._majority.setdefault(fit.id, {})[task.name] = majority.id
                self._majority_fits[fit.id, task.name] = majority
                if task.name not in self._index.get(majority.id, {}):  # else it was written with another fit
                    yield self._fit_document(majority, task, "")
                yield from self._predictions(majority, task, splits)

    def _fit_document(self, fit: Fit, task: Task, backbone: str) -> tuple[str, str]:
        """Return the name and the text of a fit with its record; notes are left out, because they may quote rows."""
        values = decoding.as_json(fit) | {"task": task.name, "backbone": backbone if fit.backbone else ""}
        return fit_name(fit.id), json_text({"fit": values, **asdict(self._answers.computation(fit))})

    def _predictions(self, fit: Fit, task: Task, splits: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the documents of a fit's predictions, each once."""
        known = self._index.setdefault(fit.id, {}).setdefault(task.name, {})
        for split in splits:
            if split not in known:
                known[split] = yield from self._prediction(fit, task, split)

    def _prediction(self, fit: Fit, task: Task, split: str) -> Generator[tuple[str, str], None, str]:
        """Yield the documents of a prediction, and return its id."""
        prediction, predicted = self._answers.find(fit, task, split)
        yield prediction_name(prediction.id), json_text(prediction_json(prediction, predicted.record))
        figures = self._answers.figures(fit, task, prediction)
        try:
            yield answers_name(prediction.id), answers_text(predicted.answers, figures)
        except ValueError as error:  # JSON has no NaN
            raise FitError(f"The answers of the fit {fit.id} cannot be shared: {error}.") from None
        return prediction.id

    def content(self, result: Result) -> dict[str, Any]:
        """Return the content of `study.json`."""
        tasks = dict[str, Any]()
        data = dict[str, Any]()
        for name, task in self._tasks.items():
            rows = {split: self._answers.rows(task, split) for split in self._splits[name]}
            tasks[name] = task_json(task, {split: len(of_split) for split, of_split in rows.items()})
            data[name] = {split: data_json(of_split, task) for split, of_split in rows.items()}
        result = replace(result, cells=tuple(map(self._without_sealed, result.cells)))
        content = {
            "format": FORMAT,
            **asdict(self._claims),
            "suppliers": {name: self._plugins.supplier(task).title for name, task in self._tasks.items()},
            "revisions": self._revisions,
            "tasks": tasks,
            "data": data,
            "result": result_json(result, self._beside),
            "predictions": self._index,
            "majority": self._majority,
            "samples": {},
        }
        checked_texts(content)
        return content

    def samples(self, result: Result, content: Mapping[str, Any]) -> Iterator[Samples]:
        """Yield the samples of Every Eval Ever: the texts of rows with the answers and their scores."""
        results = dict[tuple[str, str, str], CellResult]()
        for cell in result.cells:
            results.setdefault((cell.cell.backbone, cell.cell.task.name, next(cell.cell.fits).method), cell)
        scores = list(card_scores(content))
        for log in evaluation_logs(content):
            lines = list[str]()
            for score in scores:
                if (score.backbone, score.task.partition("/")[0]) == (log.backbone, log.collection):
                    cell = results[score.backbone, score.task, score.method]
                    lines += self._sample_lines(cell, score, log.content["evaluation_id"])
            if lines:
                yield Samples(log.backbone, log.collection, f"{LOGS}/{log.samples_name}", "".join(lines), len(lines))

    def _sample_lines(self, cell: CellResult, score: CardScore, evaluation: str) -> Iterator[str]:
        """Yield a line for each row and restart, where the metric is a mean over rows."""
        task = cell.cell.task
        metric = task.metric(score.metric)
        if metric.per_row is None or metric.computed_from != ACCURACY.computed_from or metric.columns:
            return
        rows = self._answers.rows(task, score.split)
        for fit in cell.restarts:
            _, predicted = self._answers.find(fit, task, score.split)
            yield from sample_lines(score, evaluation, task, metric, rows, fit, predicted.answers)

    def _without_sealed(self, result: CellResult) -> CellResult:
        """Return the result of a cell without the figures of splits whose labels are not here."""
        figures = {}
        for term, figure in result.figures.items():
            if not are_sealed(self._answers.rows(result.cell.task, term.split), result.cell.task):
                figures[term] = figure
        return replace(result, figures=figures)

    def _beside(self, result: CellResult) -> Beside:
        """Return what stands beside the figures of a cell: scores of the majority answer, and what a reader must know.

        The majority answer is that which the selected fit is compared with.
        """
        task = result.cell.task
        majority = dict[str, Mapping[str, Score]]()
        if result.selected is not None:
            fit = self._majority_fits.get((result.selected.id, task.name), result.selected)
            for split in dict.fromkeys(term.split for term in result.figures):
                majority[split] = self._answers.find(fit, task, split)[1].record.scores
        missing = _missing_fits(result.cell)
        return Beside(majority, (*result.warnings, *result.limits, *missing))


def _scored_tests(result: CellResult) -> list[str]:
    """Return the test splits whose answers are scored, at the chosen grid point."""
    scored = {term.split for term in result.figures}
    return [split for split in result.cell.tests if split in scored]


def _missing_fits(cell: cells.Cell) -> Iterator[str]:
    """Say whether a cell has fewer fits than its grid and its seeds ask for, or that comparisons decided how many.

    A field of the grid counts if the fits read it: its value differs between them, or is not the default.
    """
    if cell.fitting.looks:
        yield cell.fitting.looks_note
        return
    fits = list(cell.fits)
    asked = len(cell.fitting.seeds) if fits[0].revision else 1  # a method without a backbone has one fit
    for name, values in cell.fitting.grid.choices.items():
        known = {fit.recipe.as_dict().get(name) for fit in fits}
        if known != {Recipe().as_dict().get(name)}:
            asked *= len(values)
    if len(fits) < asked:
        search = cell.fitting.search
        why = f", of which {search.by} left some out" if search else ""
        yield f"{len(fits)} of the {asked} fits of the study{why}"


def json_text(value: Any) -> str:
    """Write a document as JSON."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
