"""Score predictions, and flag predictions that are no better than the majority or constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchrunner.data.rows import Rows
from benchrunner.fits.fit import Prediction
from benchrunner.fits.record import Record
from benchrunner.metrics import Score
from benchrunner.tasks.task import Task

Baseline = Callable[[], Mapping[str, Score]]
"""Computes the majority's scores on the same rows; called only if there is something to compare."""


def judged(
    prediction: Prediction,
    task: Task,
    rows: Rows,
    answers: Sequence[Any],
    extra_figures: Mapping[str, Sequence[Any]],
    timings: Mapping[str, float],
    baseline: Baseline | None,
) -> Record:
    """Return the record of a prediction. Without `baseline`, the prediction itself is the baseline: no flags."""
    scores, notes = task.scores(rows.table, answers, extra_figures), rows.notes
    flags = list[str]()
    if baseline is not None:
        if task.problem.is_constant(answers):
            flags.append("constant predictions")
        if scores and _no_better(scores, baseline()):
            flags.append("no better than majority")
        notes += tuple(_tuned(prediction, task))
    return Record(prediction.id, "done", "", scores, tuple(flags), timings, notes=notes)


def _no_better(scores: Mapping[str, Score], baseline: Mapping[str, Score]) -> bool:
    """Compare the headline metrics. If the baseline has no figure, as in correlations, any figure above 0 is better."""
    name = next(iter(scores))
    value, majority = scores[name].value, baseline[name].value
    return value is None or value <= (majority or 0.0)


def _tuned(prediction: Prediction, task: Task) -> list[str]:
    """Describe each setting that differs from the problem's default."""
    return [
        f"{name} {_shown(value)}, chosen on {task.named('dev')[0]} for {task.metrics[0].name}"
        for name, value in prediction.settings.items()
        if value != task.problem.decoding.get(name)
    ]


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
