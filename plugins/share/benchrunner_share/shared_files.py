"""Makes the files of a shared folder from the results of a study and from what the runs folder keeps."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

from benchrunner import FitError, Task
from benchrunner.engine import decoding
from benchrunner.results import CellResult, Fit, Result, Runner, predicting
from benchrunner_share.documents.contents import (
    FORMAT,
    MANIFEST,
    REPORT,
    STUDY,
    Figures,
    answers_name,
    answers_text,
    data_json,
    fit_name,
    prediction_json,
    prediction_name,
    result_json,
    task_json,
)
from benchrunner_share.documents.derived_files import derived_files
from benchrunner_share.kept_answers import KeptAnswers
from benchrunner_share.private_texts import Private


@final
class SharedFiles:
    """Makes the files of a shared folder."""

    def __init__(
        self,
        result: Result,
        runner: Runner,
        private: Private,
        names: Mapping[str, str],
        name: str,
        url: str | None,
        report: str,
    ) -> None:
        """Take the result, and the HTML of its report; it may be empty. `names` are those of `result_json`."""
        self._result = result
        self._runner = runner
        self._private = private
        self._names = names
        self._name = name
        self._url = url
        self._report = report
        self._kept = KeptAnswers(runner)
        self._index: dict[str, dict[str, dict[str, str]]] = {}
        self._majority: dict[str, dict[str, str]] = {}
        self._splits: dict[str, dict[str, None]] = {}
        self._tasks: dict[str, Task] = {}

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the content of every file, the list of files last."""
        listed = {}
        for name, text in self._texts():
            content = text.encode("utf-8")
            listed[name] = hashlib.sha256(content).hexdigest()
            yield name, content
        yield MANIFEST, _json({"format": FORMAT, "files": dict(sorted(listed.items()))}).encode("utf-8")

    def _texts(self) -> Iterator[tuple[str, str]]:
        """Yield all files but the list of files. Answers are in memory for one prediction at a time."""
        for cell in self._result.cells:
            yield from self._texts_of_cell(cell)
        content = self._content()
        yield STUDY, _json(content)
        yield from derived_files(content).items()
        if self._report:
            yield REPORT, self._report

    def _texts_of_cell(self, result: CellResult) -> Iterator[tuple[str, str]]:
        """Yield the files of all fits and predictions of a cell, and note their ids."""
        task = result.cell.task
        tests = _scored_tests(result)
        self._tasks[task.name] = task
        for fit in result.cell.fits:
            yield fit_name(fit.id), _json(self._fit_json(fit, result.lost))
            splits = [*task.named("dev"), *tests.get(fit.id, [])]
            self._splits.setdefault(task.name, {}).update(dict.fromkeys(splits))
            if fit.id not in result.lost:
                yield from self._predictions(fit, task, splits)
            if fit.method != predicting.MAJORITY:
                majority = self._kept.majority(fit, task, splits)
                self._majority.setdefault(fit.id, {})[task.name] = majority.id
                yield fit_name(majority.id), _json(self._fit_json(majority, {}))
                yield from self._predictions(majority, task, splits)

    def _fit_json(self, fit: Fit, lost: Mapping[str, str]) -> dict[str, Any]:
        """Return a fit and its record, without folders of this machine and without notes, which may quote rows."""
        record = self._runner.folder(fit).record()
        values = decoding.as_json(fit) | {"backbone": self._names.get(fit.backbone, "")}
        data: dict[str, Any] = {"fit": values, "status": "done", "timings": {}, "numerics": {}}
        if record is not None:
            data |= {"timings": dict(record.timings), "numerics": self._private.without_in(dict(record.numerics))}
        return data | ({"status": lost[fit.id].partition(": ")[0]} if fit.id in lost else {})

    def _predictions(self, fit: Fit, task: Task, splits: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the files of a fit's predictions, each once."""
        known = self._index.setdefault(fit.id, {}).setdefault(task.name, {})
        for split in splits:
            if split not in known:
                prediction, predicted = self._kept.find(fit, task, split)
                known[split] = prediction.id
                yield prediction_name(prediction.id), _json(prediction_json(prediction, predicted.record))
                figures = self._kept.figures(fit, task, prediction)
                yield answers_name(prediction.id), _answers_text(fit, predicted, figures)

    def _content(self) -> dict[str, Any]:
        reasons = dict[str, str]()
        revisions = dict[str, str]()
        plugins = self._runner.plugins
        names = self._names
        for cell in self._result.cells:
            for fit_id, reason in cell.lost.items():
                reasons[fit_id] = self._private.remark(reason.partition(": ")[2])
            for fit in cell.cell.fits:
                if fit.revision:
                    revisions[names[cell.cell.backbone]] = fit.revision
        tasks = dict[str, Any]()
        data = dict[str, Any]()
        for name, task in self._tasks.items():
            rows = {split: self._kept.rows(task, split) for split in self._splits[name]}
            tasks[name] = task_json(task, {split: len(of_split) for split, of_split in rows.items()})
            data[name] = {split: data_json(of_split) for split, of_split in rows.items()}
        return {
            "format": FORMAT,
            "name": self._private.without(self._name),
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "benchrunner": plugins.core.version,
            "url": self._url,
            "left_out_bad_rows": self._runner.workspace.settings.leave_out_bad_rows,
            "suppliers": {name: plugins.supplier(task).title for name, task in self._tasks.items()},
            "revisions": revisions,
            "tasks": tasks,
            "data": data,
            "result": result_json(self._result, names, reasons),
            "predictions": self._index,
            "majority": self._majority,
        }


def _answers_text(fit: Fit, predicted: predicting.Predicted, figures: Figures) -> str:
    try:
        return answers_text(predicted.answers, figures)
    except ValueError as error:  # JSON has no NaN
        raise FitError(f"The answers of the fit {fit.id} cannot be shared: {error}.") from None


def _scored_tests(result: CellResult) -> dict[str, list[str]]:
    """Map the fits of the chosen grid point to the test splits whose answers are scored."""
    cell = result.cell
    scored = {term.split for term in result.figures}
    tests = [split for split in cell.tests if split in scored]
    return {fit.id: tests for fit in result.restarts}


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
