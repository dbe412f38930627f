"""Makes the files of a shared folder from the results of a study and from what the runs folder keeps."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

from benchrunner.data.rows import Rows
from benchrunner.errors import FitError
from benchrunner.fits import Fit, Prediction
from benchrunner.runs.folder import RunFolder
from benchrunner.runs.predictor import MAJORITY, Predicted
from benchrunner.runs.runner import Runner
from benchrunner.sharing.answer_files import Figures, answers_text
from benchrunner.sharing.contents import (
    FORMAT,
    MANIFEST,
    STUDY,
    answers_name,
    data_json,
    fit_name,
    part_json,
    prediction_name,
    task_json,
)
from benchrunner.sharing.derived_files import derived_files
from benchrunner.sharing.private_texts import Private, shared_names
from benchrunner.sharing.verified_predictions import prediction_json
from benchrunner.studies.study import CellResult, Result
from benchrunner.tasks.task import Task


@final
class SharedFiles:
    """Makes the files of a shared folder."""

    def __init__(self, results: Sequence[Result], runner: Runner, private: Private, name: str, url: str | None) -> None:
        self._results, self._runner, self._private, self._name, self._url = results, runner, private, name, url
        self._names = shared_names(name for result in results for name in result.study.backbones)
        self._index: dict[str, dict[str, dict[str, str]]] = {}
        self._majority: dict[str, dict[str, str]] = {}
        self._splits: dict[str, dict[str, Rows]] = {}
        self._tasks: dict[str, Task] = {}

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of every file, the list of files last."""
        files = dict(self._run_files())
        content = self._content()
        files[STUDY] = _json(content)
        files |= derived_files(content)
        facts = {name: text.encode("utf-8") for name, text in sorted(files.items())}
        listed = {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in facts.items()
        }
        yield from files.items()
        yield MANIFEST, _json({"format": FORMAT, "files": listed})

    def _run_files(self) -> Iterator[tuple[str, str]]:
        """Yield the files of all fits and predictions, and note their ids."""
        for result in self._results:
            for cell_result in result.cells:
                cell = cell_result.cell
                self._tasks[cell.task.name] = cell.task
                for fit in cell.fits:
                    yield fit_name(fit.id), _json(self._fit_json(fit, cell_result.lost))
                    yield from self._predictions(fit, cell.task, cell_result)

    def _fit_json(self, fit: Fit, lost: Mapping[str, str]) -> dict[str, Any]:
        """Return a fit and its record, without folders of this machine and without notes, which may quote rows."""
        record = RunFolder(self._runner.workspace.runs, fit.id).record()
        values = fit.as_dict() | {
            "backbone": self._names.get(fit.backbone) or shared_names([fit.backbone])[fit.backbone]
        }
        data: dict[str, Any] = {"fit": values, "status": "done", "timings": {}, "numerics": {}}
        if record is not None:
            data |= {"timings": dict(record.timings), "numerics": self._private.without_in(dict(record.numerics))}
        return data | ({"status": lost[fit.id].partition(": ")[0]} if fit.id in lost else {})

    def _predictions(self, fit: Fit, task: Task, result: CellResult) -> Iterator[tuple[str, str]]:
        """Yield the files of a fit's predictions, and those of the majority answer that it is compared with."""
        predicting = [] if fit.id in result.lost else [fit]
        if fit.method != MAJORITY:
            majority = self._runner.plan(task, "", method=MAJORITY, recipe=fit.recipe)
            self._majority.setdefault(fit.id, {})[task.name] = majority.id
            predicting.append(majority)
        for split in _shared_splits(fit, result):
            splits = self._splits.setdefault(task.name, {})
            rows = splits[split] = splits.get(split) or self._runner.rows(task, split)
            for answering in predicting:
                known = self._index.setdefault(answering.id, {}).setdefault(task.name, {})
                if split not in known:
                    prediction, predicted = self._kept(answering, task, split, rows)
                    known[split] = prediction.id
                    yield prediction_name(prediction.id), _json(prediction_json(prediction, predicted.record))
                    figures = self._figures(answering, task, rows, prediction)
                    yield answers_name(prediction.id), _answers_text(answering, predicted, figures)

    def _kept(self, fit: Fit, task: Task, split: str, rows: Rows) -> tuple[Prediction, Predicted]:
        """Find the kept prediction of these rows: with the settings that were tuned for the fit, the newest."""
        folder = self._runner.folder(fit)
        tuned = {**task.problem.decoding, **folder.tuned("")}
        kept = []
        for path in folder.prediction("").glob("[!.]*/prediction.json"):
            prediction = Prediction(**json.loads(path.read_text(encoding="utf-8")))
            record = folder.prediction_record(prediction.id)
            if (prediction.task, prediction.split, prediction.data) == (task.name, split, rows.fingerprint) and record:
                order = (prediction.settings == tuned, path.stat().st_mtime)
                kept.append((order, prediction, Predicted(record, path.parent)))
        if not kept:
            raise FitError(
                f"The fit {fit.id} has no kept answers to {task.name} ({split}) as {rows.origin} is now. Repeat the "
                "command of the study, then share it again."
            )
        _, prediction, predicted = max(kept, key=lambda entry: entry[0])
        return prediction, predicted

    def _figures(self, fit: Fit, task: Task, rows: Rows, prediction: Prediction) -> dict[str, list[Any]]:
        """Return the figures from which some metrics are computed, such as probabilities; usually empty."""
        if not task.scores_extra_figures:
            return {}
        outputs = self._runner.outputs(fit, rows)
        return task.problem.extra_figures(outputs, rows.table, prediction.settings)

    def _content(self) -> dict[str, Any]:
        results = self._results
        reasons = {
            fit: self._private.remark(reason.partition(": ")[2])
            for result in results
            for cell in result.cells
            for fit, reason in cell.lost.items()
        }
        plugins, names = self._runner.plugins, self._names
        fits = [(cell.cell, fit) for result in results for cell in result.cells for fit in cell.cell.fits]
        return {
            "format": FORMAT,
            "name": self._private.without(self._name),
            "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "benchrunner": plugins.core.version,
            "url": self._url,
            "left_out_bad_rows": self._runner.workspace.settings.leave_out_bad_rows,
            "suppliers": {name: plugins.supplier(task).title for name, task in self._tasks.items()},
            "revisions": {names[cell.backbone]: fit.revision for cell, fit in fits if fit.revision},
            "tasks": {name: task_json(task, self._splits[name]) for name, task in self._tasks.items()},
            "data": {
                task: {split: data_json(rows) for split, rows in splits.items()}
                for task, splits in self._splits.items()
            },
            "parts": [part_json(result, names, reasons) for result in results],
            "predictions": self._index,
            "majority": self._majority,
        }


def _answers_text(fit: Fit, predicted: Predicted, figures: Figures) -> str:
    try:
        return answers_text(predicted.answers, figures)
    except ValueError as error:  # JSON has no NaN
        raise FitError(f"The answers of the fit {fit.id} cannot be shared: {error}.") from None


def _shared_splits(fit: Fit, result: CellResult) -> list[str]:
    """Name the splits whose answers give scores: dev, and for fits of the chosen grid point the scored test splits."""
    cell, scored = result.cell, {term.split for term in result.spreads}
    chosen = {fit.id for point in cell.candidates if point.recipe == result.chosen for fit in point.fits}
    tests = [split for split in cell.tests if split in scored] if fit.id in chosen - result.lost.keys() else []
    return [*cell.task.named("dev"), *tests]


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
