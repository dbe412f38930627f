"""Predict with fits: raw outputs, settings tuned on dev, answers, scores and flags. Everything is kept on disk."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.backbones.finite_numbers import check_outputs
from benchrunner.data.rows import Rows
from benchrunner.data.sources import DataNotFound
from benchrunner.errors import Diverged, FitError, RequestError
from benchrunner.fits.fit import Fit, Prediction, Record
from benchrunner.io.decoding import from_json
from benchrunner.io.files import read_bytes, write_atomically, write_folder_atomically
from benchrunner.io.identity import identity
from benchrunner.io.json_files import JSON_LIMIT
from benchrunner.io.messages import quoted
from benchrunner.io.seals import check_seal, made_again, read_sealed, seal_files
from benchrunner.metrics import Metric, Score
from benchrunner.plugin_code import PluginFailure, guarded
from benchrunner.problems.problem import Problem
from benchrunner.runs.folder import RunFolder, answer_lines, parse_answers, read_answers, write_prediction
from benchrunner.runs.runner import Runner
from benchrunner.tasks.folds import divided_rows
from benchrunner.tasks.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.methods.method import Job, Method

MAJORITY = "majority"
"""Name of the baseline method."""
CONSTANT = "constant predictions"
NO_BETTER = "no better than majority"
"""Flags of predictions."""
ROWS_AT_ONCE = 100_000
"""Most rows that a method predicts at once, where the problem gives each row its own outputs: features fill memory."""

Baseline = Callable[[], Mapping[str, Score]]
"""Computes the majority's scores on the same rows; called only if there is something to compare."""


@dataclass(frozen=True)
class Predicted:
    """The answers of a fit to the rows of a split, with the record of their scores."""

    record: Record
    folder: Path
    unkept: Sequence[Any] | None = None
    """The answers, if the run's folder cannot be written to; None if they are in `folder`."""

    @cached_property
    def answers(self) -> list[Any]:
        """One answer for each row, in the order of the rows; read from the folder on first use."""
        if self.unkept is not None:
            return list(self.unkept)
        return read_answers(self.folder, self.record)


def predict(fit: Fit, split: str, runner: Runner) -> Predicted:
    """Return a fit's answers to a split, with their scores if the rows have labels. Computed once, then kept.

    The runner fits first if there are no weights.
    """
    task = runner.plugins.tasks.find(fit.task)
    rows = runner.planner.rows(task, split)
    chosen = decoding_settings(fit, runner)
    scoring = identity(task.scoring)
    prediction = Prediction(fit.id, task.name, split, rows.fingerprint, dict(chosen), scoring, rows.limit)
    folder = runner.folder(fit)
    record = folder.prediction_record(prediction.id)
    if record is None:
        if fit.folds:
            runner.run(fit)  # not yet where it is the majority answer
        with runner.locked(fit):
            record = folder.prediction_record(prediction.id)
            if record is None:
                return _predict(fit, rows, prediction, runner)
    return Predicted(record, folder.prediction(prediction.id))


def _predict(fit: Fit, rows: Rows, prediction: Prediction, runner: Runner) -> Predicted:
    """Decode and score the outputs for rows; write answers and record. The caller must hold the folder's lock."""
    import numpy as np

    folder = runner.folder(fit)
    folder.sweep()
    task = runner.plugins.tasks.find(fit.task)
    method = runner.plugins.methods.find(fit.method)
    started = time.monotonic()
    outputs = None if method.given_answers else kept_outputs(fit, rows, runner)
    with _plugin_errors(folder, runner):
        if method.given_answers:
            answers = method.given_answers(runner.prediction_job(fit, folder), rows, prediction.split, runner.plugins)
        else:
            answers = task.problem.decode(np.array(outputs), rows.table, deepcopy(prediction.settings))
        count = len(answers) if hasattr(answers, "__len__") else quoted(answers)
        if count != len(rows):
            raise FitError(f"The problem of {task.name} decoded {count} answers to {len(rows):,} rows.")
        lines = answer_lines(answers)
        extra_figures = {}
        if task.scores_extra_figures and outputs is not None:
            extra_figures = task.problem.extra_figures(np.array(outputs), rows.table, deepcopy(prediction.settings))
        record = judged(
            prediction,
            task,
            runner.planner.remarks.noted(task, prediction.split, rows),
            answers,
            extra_figures,
            timings={"seconds": time.monotonic() - started},
            baseline=(lambda: majority_scores(fit, prediction, runner))
            if fit.method != MAJORITY and not task.only_scored
            else None,
        )
    home = folder.prediction(prediction.id)
    if not folder.is_read_only:
        write_folder_atomically(home, lambda part: write_prediction(part, prediction, record, lines))
        record = folder.prediction_record(prediction.id) or record
    runner.observers.call("after_predict", fit=fit, prediction=prediction, record=record)
    return Predicted(record, home, parse_answers(lines) if folder.is_read_only else None)


def majority_scores(fit: Fit, prediction: Prediction, runner: Runner) -> Mapping[str, Score]:
    """Return the scores of the majority answer of a fit's training rows on the rows of a prediction."""
    task = runner.plugins.tasks.find(fit.task)
    majority = runner.planner.plan(task, "", method=MAJORITY, recipe=fit.recipe)
    return predict(majority, prediction.split, runner).record.scores


def judged(
    prediction: Prediction,
    task: Task,
    rows: Rows,
    answers: Sequence[Any],
    extra_figures: Mapping[str, Sequence[Any]],
    *,
    timings: Mapping[str, float],
    baseline: Baseline | None,
) -> Record:
    """Return the record of a prediction with its scores and flags; a `baseline` of None gives a record without flags.

    This is for predictions of the majority answer, which is the baseline of all others.
    """
    scores = task.scores(rows.table, answers, extra_figures)
    notes = rows.notes
    flags = tuple[str, ...]()
    if baseline is not None:
        flags = flags_of(answers, task, scores, baseline)
        notes += tuple(_tuned_notes(prediction, task))
    return Record(prediction.id, "done", "", scores, flags, timings, notes=notes)


def flags_of(answers: Sequence[Any], task: Task, scores: Mapping[str, Score], baseline: Baseline) -> tuple[str, ...]:
    """Return the flags of answers to a task. Without scores, no baseline is asked."""
    flags = list[str]()
    if task.problem.is_constant(answers):
        flags.append(CONSTANT)
    if scores and _no_better(task.metrics[0], scores, baseline()):
        flags.append(NO_BETTER)
    return tuple(flags)


def _no_better(metric: Metric, scores: Mapping[str, Score], baseline: Mapping[str, Score]) -> bool:
    """Compare the headline metrics. If the baseline has no figure, as in correlations, any figure above 0 is better."""
    value = scores[metric.name].value
    floor = baseline[metric.name].value
    if value is None or (floor is None and not metric.lower_is_better and value <= 0):
        return True
    return floor is not None and metric.gain(value) <= metric.gain(floor)


def _tuned_notes(prediction: Prediction, task: Task) -> Iterator[str]:
    """Describe each setting that differs from the problem's default."""
    for name, value in prediction.settings.items():
        if value != task.problem.decoding.get(name):
            text = f"{value:.4g}" if isinstance(value, float) else str(value)
            yield f"{name} {text}, chosen on {task.named('dev')[0]} for {task.metrics[0].name}"


def decoding_settings(fit: Fit, runner: Runner) -> Mapping[str, Any]:
    """Return the settings that turn a fit's outputs into answers, tuned on dev where the problem tunes any."""
    task = runner.plugins.tasks.find(fit.task)
    folder = runner.folder(fit)
    if runner.plugins.methods.find(fit.method).given_answers:
        return task.problem.decoding
    return tuned_settings(task, folder, lambda rows: raw_outputs(fit, rows, runner), runner)


def tuned_settings(task: Task, folder: RunFolder, outputs: Callable[[Rows], Any], runner: Runner) -> Mapping[str, Any]:
    """Return a problem's decoding settings, tuned on the task's selection splits and kept in a folder.

    The rows of several splits are tuned on together, so that a threshold serves all of them.
    """
    import numpy as np

    settings = dict(task.problem.decoding)
    splits = task.selection_splits
    if not splits or not task.problem.tunes:
        return settings
    try:
        parts = [runner.planner.rows(task, split) for split in splits]
    except DataNotFound:
        return settings | folder.tuned("")  # settings that were tuned earlier, when dev was available
    fingerprints = [rows.fingerprint for rows in parts]
    data = fingerprints if len(parts) > 1 else fingerprints[0]
    key = identity({"task": task.name, "data": data, "scoring": task.scoring})
    tuned = folder.tuned(key)
    if not tuned:
        split_outputs = [np.array(outputs(rows)) for rows in parts]
        with _plugin_errors(folder, runner):
            tuned = dict(task.problem.tune(*_joined(split_outputs, parts), task.metrics[0]))
            if not folder.is_read_only:
                with folder.locked(lambda: None):  # the process with the lock removes all temporary files
                    folder.keep_tuned(key, tuned)
    return settings | tuned


def raw_outputs(fit: Fit, rows: Rows, runner: Runner) -> Any:
    """Return a fit's raw outputs for rows of its problem. They are kept: a new threshold costs no inference."""
    with runner.locked(fit):
        return kept_outputs(fit, rows, runner)


def extra_figures(fit: Fit, rows: Rows, runner: Runner) -> Mapping[str, list[Any]]:
    """Compute further figures of each row from a fit's outputs: see `Problem.extra_figures`."""
    problem = runner.plugins.tasks.find(fit.task).problem
    outputs = raw_outputs(fit, rows, runner)
    settings = decoding_settings(fit, runner)
    return problem.extra_figures(outputs, rows.table, settings)


def kept_outputs(fit: Fit, rows: Rows, runner: Runner) -> Any:
    """Return raw outputs from disk, or compute and keep them. The caller must hold the folder's lock."""
    import numpy as np

    folder = runner.folder(fit)
    problem = runner.plugins.tasks.find(fit.task).problem
    seen = {"data": rows.fingerprint, "decoding": dict(problem.decoding), "fields": problem.decoded_with}
    file = folder.outputs(identity(seen))
    seal = file.with_suffix(".json")
    of = f"outputs {file.stem} of {fit.id}"
    if runner.workspace.settings.needs_workers and fit.backbone and not (file.exists() and seal.exists()):
        local = runner.plugins.executors.find("local")
        list(local.run([fit], replace(runner.fit_runner, rows=rows)))  # a worker process keeps the outputs
    if file.exists() and seal.exists():
        check_seal(seal, of, made_again(file))
        return np.load(file, mmap_mode="r", allow_pickle=False)
    with _noted_divergence(fit, folder):
        outputs = _computed_outputs(fit, rows, runner)
        check_outputs(np.asarray(outputs), rows.origin)
    if folder.is_read_only:
        return outputs
    content = io.BytesIO()  # on a full disk, numpy's own writing raises an error that does not say so
    np.save(content, outputs)
    write_atomically(file, lambda part: part.write_bytes(content.getbuffer()))
    seal_files(seal, of, [file])
    return outputs


def _places_of_outputs(rows: Rows, numbers: Sequence[int], problem: Problem) -> list[int]:
    """Return which of the raw outputs for all rows are those of the rows with these numbers."""
    places = list[int]()
    start = 0
    wanted = set(numbers)
    for row in range(len(rows)):
        end = start + problem.output_count(rows.table.slice(row, 1))
        if row in wanted:
            places += range(start, end)
        start = end
    return places


def _outputs_of_folds(fit: Fit, rows: Rows, runner: Runner) -> Any:
    """Return raw outputs for the rows of a cross-validated fit: for each row those of the fit that has not seen it."""
    import numpy as np

    task = runner.plugins.tasks.find(fit.task)
    assert task.folds
    outputs = []
    places = list[int]()
    for training, numbers in zip(runner.planner.trainings(fit), divided_rows(rows, task.folds, fit.seed), strict=True):
        outputs.append(raw_outputs(training, rows.taken(numbers), runner))
        runner.forget_weights(training)
        places += _places_of_outputs(rows, numbers, task.problem)
    return np.concatenate(outputs)[np.argsort(places)]


def _computed_outputs(fit: Fit, rows: Rows, runner: Runner) -> Any:
    """Let the fit's method predict, and check the number of outputs. The caller must hold the folder's lock."""
    import numpy as np

    folder = runner.folder(fit)
    if fit.folds:
        with _plugin_errors(folder, runner):
            return _outputs_of_folds(fit, rows, runner)
    job = runner.prediction_job(fit, folder)
    method = runner.plugins.methods.find(fit.method)
    gives_rows = type(job.problem).gather is Problem.gather  # and needs no other row for them
    tables = [rows.table]
    if gives_rows and len(rows) > ROWS_AT_ONCE:
        tables = [rows.table.slice(start, ROWS_AT_ONCE) for start in range(0, len(rows), ROWS_AT_ONCE)]
    blocks = []
    for table in tables:
        with _plugin_errors(folder, runner):
            blocks.append(_outputs_of_block(method, job, table))
    width = job.problem.head.width
    # Raw outputs are those of a head, unless the problem changes them.
    for outputs in blocks if gives_rows and not job.problem.owns_weights else ():
        if getattr(outputs, "ndim", 0) == 2 and outputs.shape[1] != width:
            raise FitError(f"{method.name} gave {outputs.shape[1]} numbers for each row, where {width} were expected")
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _outputs_of_block(method: Method, job: Job, table: pa.Table) -> Any:
    """Let a method predict some rows, and check the number of outputs."""
    outputs = method.predict(job, table)
    expected = job.problem.output_count(table)
    count = len(outputs) if hasattr(outputs, "__len__") else quoted(outputs)
    if count != expected:
        raise FitError(f"{method.name} gave {count} outputs, where {expected} were expected")
    return outputs


@contextlib.contextmanager
def _plugin_errors(folder: RunFolder, runner: Runner) -> Iterator[None]:
    """Turn any error of a plugin's method, problem or metric into a `FitError`, so that a study goes on."""
    try:
        with guarded():
            yield
    except PluginFailure as failure:
        error = failure.raised
        raise FitError(folder.keep_traceback(error, runner.plugins)) from error


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
    import numpy as np
    import pyarrow as pa

    return np.concatenate(outputs), pa.concat_tables([rows.table for rows in parts], promote_options="default")


def majority_fits(runs: Path) -> Iterator[Fit]:
    """Yield the fits of the majority answer in a runs folder; damaged folders are left out."""
    for path in sorted(runs.glob("*/fit.json")):
        try:
            if f'"{MAJORITY}"'.encode() not in read_bytes(path, JSON_LIMIT):
                continue
            fit = from_json(Fit, read_sealed(path, ""), path)
        except RequestError:
            continue
        if fit.method == MAJORITY:
            yield fit
