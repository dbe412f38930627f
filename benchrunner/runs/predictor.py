"""Predict with fits: raw outputs, settings tuned on dev, answers, and their scores. Everything is kept on disk."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.backbones.finite_numbers import check_outputs
from benchrunner.console.printing import value_text
from benchrunner.data.rows import Rows
from benchrunner.data.sources import DataNotFound
from benchrunner.errors import Diverged, FitError
from benchrunner.fits.fit import Fit, Prediction, identity
from benchrunner.fits.record import Record
from benchrunner.io.files import write_atomically, write_folder_atomically
from benchrunner.io.seals import check_seal, seal_files
from benchrunner.metrics import Score
from benchrunner.plugin_code import PluginCode, PluginFailure
from benchrunner.problems.problem import Problem
from benchrunner.runs.evaluation import judged
from benchrunner.runs.fitter import Fitter
from benchrunner.runs.folder import RunFolder, answer_lines, parse_answers, read_answers, write_prediction
from benchrunner.tasks.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

MAJORITY = "majority"
"""Name of the baseline method."""


@dataclass(frozen=True)
class Predicted:
    """The answers to a split, with their record."""

    record: Record
    folder: Path
    unkept: Sequence[Any] | None = None
    """The answers, if the run's folder cannot be written to."""

    @cached_property
    def answers(self) -> list[Any]:
        """One answer for each row, in the order of the rows; read from the folder on first use."""
        if self.unkept is not None:
            return list(self.unkept)
        return read_answers(self.folder, self.record)


class Predictor:
    """Predicts with the fits of a fitter, and fits first where that is needed."""

    def __init__(self, fitter: Fitter) -> None:
        self.fitter, self.planner, self.plugins = fitter, fitter.planner, fitter.plugins

    def predict(self, fit: Fit, split: str, settings: Mapping[str, Any] | None) -> Predicted:
        """Return the fit's answers to a split, from disk if they were computed before.

        `settings` replaces the decoding settings that were tuned on dev.
        """
        task = self.plugins.tasks.find(fit.task)
        rows = self.planner.rows(task, split)
        settings = self.settings(fit) if settings is None else {**task.problem.decoding, **settings}
        prediction = Prediction(fit.id, task.name, split, rows.fingerprint, dict(settings), rows.limit)
        folder = self.fitter.folder(fit)
        record = folder.prediction_record(prediction.id)
        if record is None:
            with self.fitter.locked(fit):
                record = folder.prediction_record(prediction.id)
                if record is None:
                    return self._predict(fit, folder, rows, prediction)
        return Predicted(record, folder.prediction(prediction.id))

    def _predict(self, fit: Fit, folder: RunFolder, rows: Rows, prediction: Prediction) -> Predicted:
        """Decode and score the outputs for rows; write answers and record. The caller must hold the folder's lock."""
        folder.sweep()
        task, started = self.plugins.tasks.find(fit.task), time.monotonic()
        baseline = None if fit.method == MAJORITY else lambda: self.baseline(fit, prediction.split)
        outputs = self._outputs(fit, folder, rows)
        with _plugin_errors(folder):
            answers = task.problem.decode(outputs, rows.table, prediction.settings)
            if not hasattr(answers, "__len__") or len(answers) != len(rows):
                given = f"{len(answers):,} answers" if hasattr(answers, "__len__") else value_text(answers)
                raise FitError(
                    f"The problem of {task.name} decoded {given}, where {len(rows):,} rows want an answer each."
                )
            extra_figures = {}
            if task.scores_extra_figures:
                extra_figures = task.problem.extra_figures(outputs, rows.table, prediction.settings)
            timings = {"seconds": time.monotonic() - started}
            record = judged(prediction, task, rows, answers, extra_figures, timings, baseline)
            lines = answer_lines(answers)
        home = folder.prediction(prediction.id)
        if not folder.is_read_only:
            write_folder_atomically(home, lambda part: write_prediction(part, prediction, record, lines))
            record = folder.prediction_record(prediction.id) or record
        self.fitter.observers.call("after_predict", fit=fit, prediction=prediction, record=record)
        return Predicted(record, home, parse_answers(lines) if folder.is_read_only else None)

    def baseline(self, fit: Fit, split: str) -> Mapping[str, Score]:
        """Return the scores of the majority of the fit's training rows on a split."""
        task, method = self.plugins.tasks.find(fit.task), self.plugins.methods.find(MAJORITY)
        majority = self.planner.plan(task, "", method=method, recipe=fit.recipe, seed=0)
        return self.predict(majority, split, None).record.scores

    def settings(self, fit: Fit) -> Mapping[str, Any]:
        """Return the settings that turn the fit's outputs into answers, tuned on dev where the problem tunes any."""
        task = self.plugins.tasks.find(fit.task)
        return self.tuned_settings(task, self.fitter.folder(fit), lambda rows: self.outputs(fit, rows))

    def tuned_settings(self, task: Task, folder: RunFolder, outputs: Callable[[Rows], Any]) -> Mapping[str, Any]:
        """Return a problem's decoding settings, tuned on the task's selection splits and kept in a folder.

        The rows of several splits are tuned on together, so that a threshold serves all of them.
        """
        settings, splits = dict(task.problem.decoding), task.selection_splits
        if not splits or not task.problem.tunes:
            return settings
        try:
            parts = [self.planner.rows(task, split) for split in splits]
        except DataNotFound:
            return settings | folder.tuned("")  # settings that were tuned earlier, when dev was available
        fingerprints = [rows.fingerprint for rows in parts]
        key = identity({"task": task.name, "data": fingerprints if len(parts) > 1 else fingerprints[0]})
        tuned = folder.tuned(key)
        if not tuned:
            split_outputs = [outputs(rows) for rows in parts]
            with _plugin_errors(folder):
                tuned = dict(task.problem.tune(*_joined(split_outputs, parts), task.metrics[0]))
                if not folder.is_read_only:
                    with folder.locked(lambda: None):  # the process with the lock removes all temporary files
                        folder.keep_tuned(key, tuned)
        return settings | tuned

    def outputs(self, fit: Fit, rows: Rows) -> Any:
        """Return the fit's raw outputs for rows of its problem. They are kept: a new threshold costs no inference."""
        with self.fitter.locked(fit) as folder:
            return self._outputs(fit, folder, rows)

    def _outputs(self, fit: Fit, folder: RunFolder, rows: Rows) -> Any:
        """Return raw outputs from disk, or compute and keep them. The caller must hold the folder's lock."""
        import numpy as np

        decoding = self.plugins.tasks.find(fit.task).problem.decoding
        file = folder.outputs(identity({"data": rows.fingerprint, "decoding": dict(decoding)}))
        seal, of = file.with_suffix(".json"), f"outputs {file.stem} of {fit.id}"
        if file.exists() and seal.exists():
            remedy = f"Remove {file} and repeat the command: the outputs are computed again."
            check_seal(seal, of, remedy)
            return np.load(file, mmap_mode="r", allow_pickle=False)
        with _noted_divergence(fit, folder):
            outputs = self._computed_outputs(fit, folder, rows)
            check_outputs(np.asarray(outputs), rows.origin)
        if folder.is_read_only:
            return outputs

        content = io.BytesIO()  # on a full disk, numpy's own writing raises an error that does not say so
        np.save(content, outputs)
        write_atomically(file, lambda part: part.write_bytes(content.getbuffer()))
        seal_files(seal, of, [file])
        return outputs

    def _computed_outputs(self, fit: Fit, folder: RunFolder, rows: Rows) -> Any:
        """Let the fit's method predict, and check the number of outputs. The caller must hold the folder's lock."""
        job = self.fitter.prediction_job(fit, folder)
        method = self.plugins.methods.find(fit.method)
        with _plugin_errors(folder):
            outputs = method.predict(job, rows.table)
            expected = job.problem.output_count(rows.table)
            if not hasattr(outputs, "__len__"):
                raise FitError(f"The method '{method.name}' predicted {value_text(outputs)}, not an array of outputs.")
        if len(outputs) != expected:
            raise FitError(
                f"{method.name} gave {len(outputs)} outputs, where {expected} were expected for {rows.origin}"
            )
        width = job.problem.head.width
        is_plain = type(job.problem).gather is Problem.gather  # its raw outputs are those of a head
        if is_plain and getattr(outputs, "ndim", 0) == 2 and outputs.shape[1] != width:
            raise FitError(f"{method.name} gave {outputs.shape[1]} numbers for each row, where {width} were expected")
        return outputs


@contextlib.contextmanager
def _plugin_errors(folder: RunFolder) -> Iterator[None]:
    """Turn any error of a plugin's method, problem or metric into a `FitError`, so that a study goes on."""
    try:
        with PluginCode():
            yield
    except PluginFailure as failure:
        raise FitError(folder.keep_traceback(failure.raised)) from failure.raised


@contextlib.contextmanager
def _noted_divergence(fit: Fit, folder: RunFolder) -> Iterator[None]:
    """Give the record of a finished fit the status diverged if its outputs turn out not to be finite numbers."""
    try:
        yield
    except Diverged as error:
        record = folder.record()
        if record is not None and record.status == "done":
            folder.keep_record(replace(record, status="diverged", reason=str(error)))
        raise Diverged(f"The fit {fit.id} ({fit.task}, {fit.backbone}) has no answers: {error}.") from None


def _joined(outputs: Sequence[Any], parts: Sequence[Rows]) -> tuple[Any, pa.Table]:
    """Join the outputs and the rows of several splits as if they were one split."""
    if len(parts) == 1:
        return outputs[0], parts[0].table
    import numpy as np
    import pyarrow as pa

    return np.concatenate(outputs), pa.concat_tables([rows.table for rows in parts], promote_options="default")
