"""Check that a task keeps its contract: its files, its rows, its problem and its metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchrunner import Metric, PluginError, Workspace, guarded
from benchrunner.engine import seals
from benchrunner_kit.testing.contract import Faults, check_count, found, refuse
from benchrunner_kit.testing.problem_checks import check_decoding, check_features, check_spelling, examine, repeated
from benchrunner_kit.testing.samples import Sample, with_data

if TYPE_CHECKING:
    from benchrunner import Task

ANSWERS = Metric.computed_from
"""What most metrics are computed from."""
EXAMINED = 8
"""Training rows that are looked at one by one."""


def check_task(task: Task, folder: Path, *, workspace: Workspace | None = None) -> None:
    """Check that a task keeps its contract; raise a `PluginError` that lists every fault, with advice.

    Every split must load, encode and decode; answers must survive being written; right answers must score, also those
    to a single row, and in any order. A few training rows go through the checks of `check_problem`. The rows are those
    of `workspace`, or of the task's own demo files, which are written below `folder`.
    """
    faults = list[str]()
    if workspace is None:
        with_data([task], folder / "again", None)
        workspace = with_data([task], folder, None)
        if seals.folder_checksums(folder / "again" / "data") != seals.folder_checksums(folder / "data"):
            faults.append("demo_files writes different files each time: draw random numbers from a fixed seed")
    for name in task.splits:
        for fault in found("checking the rows", _check_split(task, name, workspace)):
            faults.append(f"split {name}: {fault}")
    refuse(task.name, faults)


def _check_split(task: Task, split: str, workspace: Workspace) -> Faults:
    """Check a split as a whole: encoding, gathering and decoding, then the labels and the metrics."""
    problem = task.problem
    table = task.load(split, workspace).table
    sample = Sample(problem, table, task.recipe)
    yield from check_features(sample)
    if problem.head.width:
        yield from check_decoding(sample, sample.raw)
    positions, sequences = problem.recurrent_sequences(sample.features, table)
    check_count("recurrent_sequences", positions, len(sequences.tokens), "tokens")
    if not sample.gold and task.splits[split].role == "test":
        return
    check_count("gold", sample.gold, len(table), "rows; only rows of a test split may have no labels")
    majority = repeated(problem.majority_output(table), sample)
    yield from check_decoding(sample, majority)
    yield from check_spelling(problem, sample.gold)
    predictions = {**problem.extra_figures(majority, table, problem.decoding)}
    texts = [problem.spell(problem.best_answer(label)) for label in sample.gold]
    predictions[ANSWERS] = list(map(problem.parse, texts))
    for metric in task.metrics:
        yield from found(f"computing {metric.name}", _check_metric(task, metric, sample, predictions))
    if problem.tunes:
        settings = problem.tune(majority, table, task.metrics[0])
        for name in settings.keys() - problem.decoding.keys():
            yield f"tune gives the setting '{name}', which `decoding` lacks: give it a default there"
        problem.decode(majority, table, {**problem.decoding, **settings})
    if split == task.train:
        yield from examine(sample.of(table.slice(0, EXAMINED)))


def _check_metric(task: Task, metric: Metric, sample: Sample, predictions: Mapping[str, Sequence[Any]]) -> Faults:
    """Check a metric with right answers, with wrong ones, with single rows and with rows in another order."""
    name = metric.name
    if metric.computed_from not in predictions:
        raise PluginError(f"{name} is computed from {metric.computed_from}, which extra_figures does not give: give it")
    predicted = predictions[metric.computed_from]
    if metric.computed_from == ANSWERS and len(set(map(repr, predicted))) > 1:
        yield from _check_right_answers(metric, sample, predicted, is_headline=metric is task.metrics[0])
    rows = range(len(predicted))
    first = _score(metric, sample, predicted, rows)
    turned = _score(metric, sample, predicted, rows[::-1])
    if not np.isclose(first, turned, rtol=1e-6, atol=1e-9, equal_nan=True):
        yield f"{name} is {first} for the rows, and {turned} in another order: compare rows one by one"
    with guarded(f"computing {name} of a single row"):
        for row in rows[:EXAMINED]:
            _score(metric, sample, predicted, [row])


def _score(metric: Metric, sample: Sample, predicted: Sequence[Any], rows: Sequence[int]) -> float:
    """Score predictions for some rows, in the order of `rows`; nan where the metric has no value."""
    chosen = sample.of(sample.table.take(list(rows)))
    answers = [predicted[row] for row in rows]
    value = metric.score(chosen.gold, answers, chosen.table).value
    return math.nan if value is None else value


def _check_right_answers(metric: Metric, sample: Sample, answers: Sequence[Any], *, is_headline: bool) -> Faults:
    """Check the score of right answers, and of wrong ones, which is the mean of `per_row`.

    Right answers may have the value 0 of a metric of which lower values are better.
    """
    rows = range(len(answers))
    right = _score(metric, sample, answers, rows)
    if math.isnan(right):
        if is_headline:
            yield f"{metric.name} of the right answers has no value: fits are selected by it"
        return
    if not metric.lower_is_better and right <= 0:
        yield (
            f"{metric.name} of the right answers is not above zero: it is {right:.4g}; higher must be better, or the "
            "metric has lower_is_better=True"
        )
    others = [*answers[1:], answers[0]]
    has_lists = any(isinstance(answer, list) for answer in answers)
    if is_headline and not has_lists:  # a list may belong to its row by its length
        wrong = _score(metric, sample, others, rows)
        if metric.gain(wrong) >= metric.gain(right):
            yield (
                f"{metric.name} of wrong answers, {wrong:.4g}, is no worse than that of the right ones, {right:.4g}: "
                "fits are selected by it"
            )
    if metric.per_row is not None and not metric.columns:
        score = _score(metric, sample, others, rows)
        mean = math.fsum(map(metric.per_row, sample.gold, others)) / len(rows)
        if not math.isclose(score, mean, rel_tol=1e-6, abs_tol=1e-9):
            yield (
                f"{metric.name} is {score:.4g} by `compute`, and {mean:.4g} as the mean of `per_row`: they must agree, "
                "or the metric has no `per_row`"
            )
