"""The audit of prediction files: their scores by the official rules, their flags and their faults."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, final

from benchrunner import DataError, DataNotFound, RequestError, Rows, Score, Task
from benchrunner.engine import problem
from benchrunner.results import Runner, predict, predicting
from benchrunner_answers.layouts import answers_in
from benchrunner_submit import rows_of

if TYPE_CHECKING:
    from benchrunner import Scorer


@final
@dataclass(frozen=True)
class Question:
    """The rows of a task that files answer."""

    task: Task
    rows: Rows | None
    """None where the user names no rows, and the files of the official scorer hold the gold answers too."""
    runner: Runner
    files: Mapping[str, Path] = field(default_factory=dict)
    """Further files of the official scorer, by the names of its options."""
    majority: Mapping[str, Score] = field(default_factory=dict)
    """Scores of the majority answer of the training rows; empty without such rows, and without gold labels."""
    notes: tuple[str, ...] = ()
    """What cannot be told and why, a sentence each."""


@final
@dataclass(frozen=True)
class AuditedFile:
    """What an audit found about one file."""

    path: Path
    rows: int | None = None
    """Number of answers; None if they could not be read, or only the official scorer reads them."""
    flags: Sequence[str] = ()
    """Names of flags. A file with a flag may still be what its author meant."""
    scores: Mapping[str, Score] = field(default_factory=dict)
    """The task's metrics; or the official scorer's figures, by its own names and on its own scale; else empty."""
    text: str = ""
    """The scores as text, to be printed; empty without scores."""
    notes: Sequence[str] = ()
    """What is unusual about the file, a sentence each."""
    fault: str = ""
    """Why the file is invalid, in a sentence or two; empty for a valid file."""


def question_of_task(
    task: Task,
    split: str | None,
    runner: Runner,
    *,
    gold: Path | None = None,
    files: Mapping[str, Path] = MappingProxyType({}),
) -> Question:
    """Return what a split of a task asks (default: the first dev split).

    `gold` is a file of labelled rows in the task's own layout, which takes the place of the split's rows. `files` are
    the further files that the task's official scorer takes, by the names of its options.
    """
    name = split or next(iter(task.named("dev")), task.train)
    if name not in task.splits:
        raise RequestError(f"{task.name} has no split '{name}'; it has {', '.join(task.splits)}.")
    for option, path in files.items():
        if task.scorer is None or option not in task.scorer.options:
            known = ", ".join(task.scorer.options) if task.scorer else ""
            raise RequestError(
                f"--file {option}=...: the official scorer of {task.name} takes {known or 'no further files'}."
            )
        if not path.is_file():
            raise RequestError(f"--file {option}={path}: there is no such file.")
    is_named = split is not None or gold is not None
    if not is_named and task.scorer is not None and not task.scorer.needs_gold:
        return Question(task, None, runner, files=files)
    rows = runner.planner.rows(task, name) if gold is None else rows_of(task, name, gold, runner.workspace)
    notes = tuple(f"{rows.origin}: {note}" for note in rows.notes)
    question = Question(task, rows, runner, files, notes=notes)
    if task.problem.gold(rows.table) is None:
        return dataclasses.replace(question, notes=(*notes, f"{rows.origin} has no labels: nothing is scored."))
    if gold is not None:
        return question
    try:
        return dataclasses.replace(question, majority=_majority_scores(task, name, runner))
    except DataNotFound:
        note = f"No training rows of {task.name}: nothing is compared with their majority answer."
        return dataclasses.replace(question, notes=(*notes, note))


def audit_files(paths: Sequence[Path], question: Question) -> list[AuditedFile]:
    """Audit files; a file that cannot be read has a fault."""
    audited = []
    for path in paths:
        try:
            audited.append(_audited(path, question))
        except DataError as fault:
            audited.append(AuditedFile(path, fault=str(fault)))
    return audited


def _audited(path: Path, question: Question) -> AuditedFile:
    """Audit one file."""
    task = question.task
    if not path.is_file():
        raise DataError(f"{path}: {'this is a folder' if path.is_dir() else 'there is no such file'}.")
    if task.scorer is not None and task.scorer.recognizes(path):
        return _officially_scored(task.scorer, path, question)
    for option in question.files:
        raise RequestError(
            f"--file {option}=... is for files in the layout of the official scorer, and {path} is in another."
        )
    rows = question.rows or question.runner.planner.rows(task, task.named("dev")[0])
    answers = answers_in(path, task, rows, question.runner.plugins)
    try:
        scores = task.scores(rows.table, answers)
    except DataError as error:  # an answer does not fit its row, for example too few tags for the words
        raise DataError(f"{path}: {error}") from None
    known = scores if _comparable(scores, question.majority) else {}
    flags = predicting.flags_of(answers, task, known, lambda: question.majority)
    return AuditedFile(path, len(answers), flags, scores, _text(task, path, rows, scores) if scores else "")


def _comparable(scores: Mapping[str, Score], majority: Mapping[str, Score]) -> bool:
    """Return whether the headline scores can be compared; a metric of probabilities has none for a file."""
    name = next(iter(scores), "")
    return name in majority and (scores[name].value is not None or majority[name].value is None)


def _officially_scored(scorer: Scorer, path: Path, question: Question) -> AuditedFile:
    """Audit a file in the layout of the task's official scorer, which reads it."""
    scored = scorer.score(path, question.rows, question.files)
    flags = (predicting.CONSTANT,) if problem.are_equal(scored.answers) else ()
    return AuditedFile(path, None, flags, scored.figures, scored.text.removesuffix("\n"), scored.notes)


def _text(task: Task, path: Path, rows: Rows, scores: Mapping[str, Score]) -> str:
    """Write the scores of a file, a metric in a line."""
    width = max(10, *(len(name) for name in scores))
    lines = [f"{path} against {rows.origin} ({len(rows):,} rows)"]
    for name, score in scores.items():
        figure = f"absent: {score.reason}" if score.value is None else f"{score.value * task.metric(name).scale:.2f}"
        lines.append(f"  {name:<{width}} {figure}")
    return "\n".join(lines)


def _majority_scores(task: Task, split: str, runner: Runner) -> Mapping[str, Score]:
    """Score the majority answer of the training rows; nothing is kept."""
    with tempfile.TemporaryDirectory(prefix="benchrunner-audit-") as folder:
        passing = runner.in_workspace(dataclasses.replace(runner.workspace, runs=Path(folder)))
        fit = passing.planner.plan(task, "", method=predicting.MAJORITY, recipe=task.recipe)
        return predict(fit, split, passing).record.scores
