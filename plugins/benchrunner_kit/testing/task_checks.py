"""Check that a task keeps its contract: its files, its rows, its problem and its metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchrunner import BenchrunnerError, Metric, Rows, Workspace
from benchrunner_kit.testing.contract import Findings, described
from benchrunner_kit.testing.loss_checks import sample_outputs
from benchrunner_kit.testing.problem_checks import (
    check_decoding,
    check_features,
    check_spelling,
    examine,
    unlabelled,
)
from benchrunner_kit.testing.samples import with_data
from benchrunner_kit.testing.tiny_encoder import TinyEncoder

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
    findings = Findings(task.name)
    workspace = with_data([task], folder, workspace, findings)
    for name, split in task.splits.items():
        part = Findings(task.name)
        try:
            rows = task.load(name, workspace)
        except BenchrunnerError as error:
            part.add(str(error))
        except Exception as error:
            part.add(f"reading the rows ends in {described(error)}: let a source raise DataError, with file and line")
        else:
            with part.step("to check the rows"):
                _check_split(task, rows, part, labelled=split.role != "test")
            if name == task.train and not part.faults:
                with part.step("to check training rows one by one"):
                    examine(task.problem, rows.table.slice(0, EXAMINED), task.recipe, part)
        for fault in part.faults:
            findings.add(f"split {name}: {fault}")
    findings.refuse()


def _check_split(task: Task, rows: Rows, findings: Findings, *, labelled: bool) -> None:
    """Check a split as a whole: encoding, gathering and decoding, then the labels and the metrics."""
    problem = task.problem
    gold = problem.gold(rows.table)
    features = problem.encode(rows.table, TinyEncoder(), task.recipe, training=False)
    check_features(problem, features, rows.table, findings)
    if problem.head.width:
        raw = problem.gather(sample_outputs(problem, features), features, rows.table)
        check_decoding(problem, raw, rows.table, findings)
    positions, sequences = problem.recurrent_sequences(features, rows.table)
    if len(positions) != len(sequences.tokens):
        findings.add(
            f"recurrent_sequences gives {len(positions)} positions for {len(sequences.tokens)} tokens: give one each"
        )
    _check_unlabelled(task, rows, findings)
    if gold is not None:
        output = problem.majority_output(rows.table)
        majority = np.repeat(output[None], problem.output_count(rows.table), axis=0)
        check_decoding(problem, majority, rows.table, findings)
        check_spelling(problem, gold, findings)
        figures = problem.extra_figures(majority, rows.table, problem.decoding)
        _check_metrics(task, rows, gold, figures, findings)
        _check_tuning(task, rows, majority, findings)
    elif labelled:
        findings.add("the rows have no labels; only the rows of a test split may have none")


def _check_unlabelled(task: Task, rows: Rows, findings: Findings) -> None:
    """Check that rows without their labels can be encoded, since a user's own questions have none."""
    problem = task.problem
    names = ", ".join(problem.label_columns)
    table = unlabelled(problem, rows.table)
    try:
        problem.encode(table, TinyEncoder(), task.recipe, training=False)
        if problem.gold(table) is not None:
            findings.add(f"gold gives labels for rows without the label columns ({names}): give None")
    except Exception as error:  # the code of a plugin may fail in any way
        findings.add(
            f"rows without the label columns ({names}) cannot be encoded: {described(error)}; read labels only where "
            "they are"
        )


def _check_metrics(
    task: Task, rows: Rows, gold: Sequence[Any], figures: Mapping[str, Sequence[Any]], findings: Findings
) -> None:
    """Check each metric with right answers, with wrong ones, with single rows and with rows in another order."""
    answers = [task.problem.parse(task.problem.spell(task.problem.best_answer(label))) for label in gold]
    for metric in task.metrics:
        if metric.computed_from not in {ANSWERS, *figures}:
            findings.add(
                f"{metric.name} is computed from {metric.computed_from}, which extra_figures does not give: give it "
                "there"
            )
            continue
        predicted = answers if metric.computed_from == ANSWERS else figures[metric.computed_from]
        with findings.step(f"to compute {metric.name}"):
            if metric.computed_from == ANSWERS and len(set(map(repr, gold))) > 1:
                _check_right_answers(metric, rows, gold, answers, findings, is_headline=metric is task.metrics[0])
                _check_rows(metric, gold, answers, findings)
            _check_order(metric, rows, gold, predicted, findings)
        with findings.step(f"to compute {metric.name} of a single row"):
            for row in range(min(EXAMINED, len(rows))):
                metric.score(gold[row : row + 1], predicted[row : row + 1], rows.table.slice(row, 1))


def _check_right_answers(
    metric: Metric, rows: Rows, gold: Sequence[Any], answers: Sequence[Any], findings: Findings, *, is_headline: bool
) -> None:
    """Check that right answers score above zero, and, for the headline metric, better than wrong ones.

    Right answers may have the value 0 of a metric of which lower values are better.
    """
    score = metric.score(gold, answers, rows.table)
    right = score.value
    if right is None:
        if is_headline:
            findings.add(f"{metric.name} of the right answers has no value ({score.reason}): fits are selected by it")
        return
    if not metric.lower_is_better and not right > 0:
        findings.add(
            f"{metric.name} of the right answers is not above zero: it is {right:.4g}; higher must be better, or the "
            "metric has lower_is_better=True"
        )
    if any(isinstance(answer, list) for answer in answers):  # a list may belong to its row by its length
        return
    wrong = metric.score(gold, [*answers[1:], answers[0]], rows.table).value
    if is_headline and wrong == right:
        findings.add(f"{metric.name} is {right:.4g} for the right answers and for wrong ones: fits are selected by it")
    if is_headline and wrong is not None and metric.gain(wrong) > metric.gain(right):
        place, chosen = ("below", "lowest") if metric.lower_is_better else ("above", "highest")
        findings.add(
            f"{metric.name} of wrong answers, {wrong:.4g}, is {place} that of the right ones, {right:.4g}: fits are "
            f"selected by the {chosen} score"
        )


def _check_rows(metric: Metric, gold: Sequence[Any], answers: Sequence[Any], findings: Findings) -> None:
    """Compare the score of partly wrong answers with the mean of `per_row`, by which intervals and tests go."""
    if metric.per_row is None or metric.columns:
        return
    half = len(gold) // 2
    answers = [*answers[:half], *answers[half + 1 :], *answers[half : half + 1]]
    score = metric.score(gold, answers).value
    mean = math.fsum(map(metric.per_row, gold, answers)) / len(gold)
    if score is not None and not math.isclose(score, mean, rel_tol=1e-6, abs_tol=1e-9):
        findings.add(
            f"{metric.name} is {score:.4g} by `compute`, and {mean:.4g} as the mean of `per_row`: they must agree, or "
            "the metric has no `per_row`"
        )


def _check_order(metric: Metric, rows: Rows, gold: Sequence[Any], predicted: Sequence[Any], findings: Findings) -> None:
    """Compare the score with that of the same rows in another order."""
    first = metric.score(gold, predicted, rows.table).value
    reversed_rows = rows.table.take(list(reversed(range(len(rows)))))
    turned = metric.score(list(reversed(gold)), list(reversed(predicted)), reversed_rows).value
    if first is None or turned is None:
        is_equal = first is turned
    else:
        is_equal = math.isclose(first, turned, rel_tol=1e-6, abs_tol=1e-9)
    if not is_equal:
        findings.add(f"{metric.name} is {first} for the rows, and {turned} in another order: compare rows one by one")


def _check_tuning(task: Task, rows: Rows, raw: np.ndarray, findings: Findings) -> None:
    """Check that tuned settings can be decoded with."""
    problem = task.problem
    if problem.tunes:
        with findings.step("to tune settings"):
            settings = problem.tune(raw, rows.table, task.metrics[0])
            unknown = set(settings) - set(problem.decoding)
            if unknown:
                findings.add(
                    f"tune gives the setting '{min(unknown)}', which `decoding` lacks: give it a default there"
                )
            problem.decode(raw, rows.table, {**problem.decoding, **settings})
