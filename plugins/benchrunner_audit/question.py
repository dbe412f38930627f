"""What audited files answer: the rows of a task, rows whose labels are known, or rows of which nothing is known."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from benchrunner import Classify, DataNotFound, RequestError, Rows, Score, Task
from benchrunner.engine import Problem
from benchrunner.results import Runner, predict, predicting
from benchrunner_audit.prediction_files import labels_by_text
from benchrunner_submit import rows_of


@final
@dataclass(frozen=True)
class Question:
    """What is known about the rows that files answer."""

    problem: Problem | None = None
    """Reads the answers; None if an answer may be any text."""
    spellings: Mapping[str, str] = field(default_factory=dict)
    """Text in files -> label, where boards and data files spell labels in another way."""
    task: Task | None = None
    rows: Rows | None = None
    """The rows of the split; None if they are not there."""
    is_named: bool = False
    """Whether the user named the rows: then an official scorer takes them, though its files may hold gold answers."""
    files: Mapping[str, Path] = field(default_factory=dict)
    """Further files of the official scorer, by the names of its options."""
    majority: Mapping[str, Score] = field(default_factory=dict)
    """The scores of the majority answer of the training rows; empty if there are no such rows, or no gold labels."""
    notes: tuple[str, ...] = ()
    """What cannot be told and why, a sentence each."""

    @property
    def labels(self) -> Sequence[str]:
        """The labels of the answers; empty if answers are no labels."""
        return getattr(self.problem, "labels", ())

    def comparable(self, scores: Mapping[str, Score]) -> Mapping[str, Score]:
        """Return the scores if the majority answer can be compared with them, else nothing.

        A headline metric of probabilities, for example, has a value for the majority answer and none for a file.
        """
        for name, score in scores.items():
            if name not in self.majority or (score.value is None and self.majority[name].value is not None):
                return {}
            return scores
        return {}


def question_of_labels(labels: Sequence[str]) -> Question:
    """Return the question that has these labels and no rows; without labels, an answer may be any text."""
    if not labels:
        return Question()
    if len(set(labels)) != len(labels) or len(labels) < 2 or "" in labels:
        raise RequestError(f"--labels {','.join(labels)}: give two or more different labels, with commas between them.")
    return Question(Classify(tuple(labels)))


def question_of_task(
    task: Task,
    split: str | None,
    runner: Runner,
    *,
    gold: Path | None = None,
    files: Mapping[str, Path] | None = None,
) -> Question:
    """Return what a split of a task asks (default: the first dev split), as far as its data is there.

    `gold` is a file of labelled rows in the task's own layout, which takes the place of the split's rows. `files` are
    the further files that the task's official scorer takes, by the names of its options.
    """
    name = split or next(iter(task.named("dev")), task.train)
    if name not in task.splits:
        raise RequestError(f"{task.name} has no split '{name}'; it has {', '.join(task.splits)}.")
    for option, path in (files or {}).items():
        if task.scorer is None or option not in task.scorer.options:
            raise RequestError(f"--{option} has no meaning for the official scorer of {task.name}: leave it out.")
        if not path.is_file():
            raise RequestError(f"--{option} {path}: there is no such file.")
    spellings = labels_by_text(task, runner.plugins.leaderboards.values())
    is_named = split is not None or gold is not None
    question = Question(task.problem, spellings, task, is_named=is_named, files=files or {})
    try:
        rows = runner.planner.rows(task, name) if gold is None else rows_of(task, name, gold, runner.workspace)
    except DataNotFound:
        note = f"No data for {task.name}, split {name}: only what needs no rows is told. Give the data with --data DIR."
        return dataclasses.replace(question, notes=(note,))
    notes = [f"{rows.origin}: {note}" for note in rows.notes]
    majority: Mapping[str, Score] = {}
    if task.problem.gold(rows.table) is None:
        notes.append(f"{rows.origin} has no labels: nothing is scored.")
    elif gold is not None:
        notes.append("With --gold, nothing is compared with the majority answer.")
    else:
        try:
            majority = _majority_scores(task, name, runner)
        except DataNotFound:
            notes.append(f"No training rows of {task.name}: nothing is compared with their majority answer.")
    return dataclasses.replace(question, rows=rows, majority=majority, notes=tuple(notes))


def _majority_scores(task: Task, split: str, runner: Runner) -> Mapping[str, Score]:
    """Score the majority answer of the training rows; nothing is kept."""
    with tempfile.TemporaryDirectory(prefix="benchrunner-audit-") as folder:
        passing = runner.in_workspace(dataclasses.replace(runner.workspace, runs=Path(folder)))
        fit = passing.planner.plan(task, "", method=predicting.MAJORITY, recipe=task.recipe)
        return predict(fit, split, passing).record.scores
