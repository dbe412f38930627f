"""The check of a task: its files, its rows, its problem and its metrics."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchrunner.data.rows import Rows
from benchrunner.errors import BenchrunnerError, PluginError, RequestError, Undefined, described
from benchrunner.metrics import ANSWERS, gold_rows
from benchrunner.testing.contract import refuse
from benchrunner.testing.tiny_encoder import TinyEncoder
from benchrunner.workspace import Settings, Workspace

if TYPE_CHECKING:
    from benchrunner.problems.problem import Problem
    from benchrunner.tasks.task import Task


def check_task(task: Task, folder: Path, *, workspace: Workspace | None = None) -> None:
    """Check that every split loads and encodes, that answers survive being written, and that right answers score.

    The rows are those of `workspace`, or of the task's own demo files, which are written below `folder`.
    """
    faults: list[str] = []
    if workspace is None:
        if task.demo_files is None:
            raise PluginError(f"{task.name}: without demo_files, give a workspace with its data.")
        task.demo_files(0, folder / "data")
        task.demo_files(0, folder / "again")
        if _contents(folder / "data") != _contents(folder / "again"):
            faults.append("demo_files writes different files for the same seed")
        settings = Settings(offline=True, official_counts=False)
        workspace = Workspace(folder / "runs", folder / "cache", data=folder / "data", settings=settings)
    for name, split in task.splits.items():
        try:
            rows = task.load(name, workspace)
        except BenchrunnerError as error:
            faults.append(f"split {name}: {error}")
            continue
        faults += [f"split {name}: {fault}" for fault in _row_faults(task, rows, labelled=split.role != "test")]
    refuse(task.name, faults)


def _row_faults(task: Task, rows: Rows, *, labelled: bool) -> Iterator[str]:
    """Find what is wrong with a split: encoding, gathering and decoding, then the labels and the metrics."""
    problem, gold = task.problem, task.problem.gold(rows.table)
    features = problem.encode(rows.table, TinyEncoder(), task.recipe, training=False)
    count = len(features.tokens if problem.head.level == "token" else features.owner)
    gathered = problem.gather(np.zeros((count, problem.head.width)), features, rows.table)
    expected = problem.output_count(rows.table)
    if len(gathered) != expected:
        yield f"gather gives {len(gathered)} raw outputs, where output_count says {expected}"
    else:
        yield from _decoding_faults(problem, gathered, rows)
    positions, sequences = problem.recurrent_sequences(features, rows.table)
    if len(positions) != len(sequences.tokens):
        yield f"recurrent_sequences gives {len(positions)} positions for {len(sequences.tokens)} tokens"
    yield from _unlabelled_faults(task, rows)
    if gold is not None:
        majority = np.repeat(problem.majority_output(rows.table)[None], expected, axis=0)
        yield from _decoding_faults(problem, majority, rows)
        yield from _label_faults(task, rows, gold, problem.extra_figures(majority, rows.table, problem.decoding))
    elif labelled:
        yield "the rows have no labels; only the rows of a test split may have none"


def _unlabelled_faults(task: Task, rows: Rows) -> Iterator[str]:
    """Check that rows without their labels can be encoded, since a user's own questions have none."""
    problem, names = task.problem, task.problem.label_columns
    table = rows.table.drop_columns([name for name in names if name in rows.table.column_names])
    try:
        problem.encode(table, TinyEncoder(), task.recipe, training=False)
        if problem.gold(table) is not None:
            yield f"gold gives labels for rows without the label columns ({', '.join(names)})"
    except Exception as error:  # the code of a plugin may fail in any way
        yield f"rows without the label columns ({', '.join(names)}) cannot be encoded: {described(error)}"


def _decoding_faults(problem: Problem, outputs: np.ndarray, rows: Rows) -> Iterator[str]:
    """Check that raw outputs give each row an answer that JSON can hold, and that equal outputs average to it."""
    answers = problem.decode(outputs, rows.table, problem.decoding)
    if len(answers) != len(rows):
        yield f"decode gives {len(answers)} answers for {len(rows)} rows"
    try:
        if json.loads(json.dumps(answers)) != answers:
            yield "an answer is different after it was written as JSON and read again"
    except TypeError as error:
        yield f"an answer cannot be written as JSON: {error}"
    with contextlib.suppress(RequestError):  # answers of some problems cannot be averaged
        if problem.decode(problem.average([outputs] * 2), rows.table, problem.decoding) != answers:
            yield "the average of two equal outputs gives different answers"


def _label_faults(task: Task, rows: Rows, gold: Sequence[Any], figures: Mapping[str, Any]) -> Iterator[str]:
    """Check that the best answers survive a prediction file, and that each metric rewards them."""
    problem = task.problem
    written = [problem.spell(problem.best_answer(label)) for label in gold]
    answers = [problem.parse(text) for text in written]
    if any(problem.spell(answer) != text for answer, text in zip(answers, written, strict=True)):
        yield "an answer is different after it was written to a prediction file and read again"
    for metric in task.metrics:
        if metric.computed_from not in {ANSWERS, *figures}:
            yield f"{metric.name} is computed from {metric.computed_from}, which extra_figures does not give"
        if metric.computed_from == ANSWERS and len(set(map(repr, gold))) > 1:
            with contextlib.suppress(Undefined):
                if not metric.value(gold_rows(metric, gold, rows.table), answers) > 0:
                    yield f"{metric.name} of the right answers is not above zero"


def _contents(folder: Path) -> Mapping[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
