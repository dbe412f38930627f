"""Grades of answers by label, and confusion matrices, from the answers of all restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, final

from benchrunner import Rows
from benchrunner_report.drawings.matrix import Entry, Matrix
from benchrunner_report.grading import Grading
from benchrunner_statistics import AnsweredRows
from benchrunner_tasks import data_checks

MOST_LABELS = 12
"""Largest number of labels for which a report shows a confusion matrix and grades by label."""


@final
@dataclass(frozen=True)
class Slice:
    """Some rows of a split with the mean grade of each system."""

    name: str
    rows: int
    means: Mapping[str, float]
    """System -> mean grade over the rows and restarts, as pages show it."""


def slices_by_label(rows: AnsweredRows, grading: Grading) -> tuple[Slice, ...]:
    """Group the rows by their gold label; empty if gold has one label only, or more than `MOST_LABELS`."""
    members: dict[str, list[int]] = {}
    for row, label in enumerate(rows.gold or ()):
        if not isinstance(label, str | int):
            return ()
        members.setdefault(str(label), []).append(row)
    if not 1 < len(members) <= MOST_LABELS:
        return ()
    return tuple(_slice(name, members[name], grading) for name in sorted(members))


def slices_by_train(rows: AnsweredRows, train: Rows, grading: Grading) -> tuple[Slice, ...]:
    """Group the rows by what of them stands in train; empty if nothing does."""
    standing, sharing = map(set, data_checks.TrainingTexts(rows.task, train).seen(rows.rows).values())
    new = set(range(len(rows.rows))) - standing - sharing
    if len(new) == len(rows.rows):
        return ()
    members = {"seen in train": standing, "a text seen in train": sharing - standing, "new": new}
    return tuple(_slice(name, sorted(numbers), grading) for name, numbers in members.items() if numbers)


def _slice(name: str, members: Sequence[int], grading: Grading) -> Slice:
    means = {system: grading.mean(system, members) for system in grading.grades}
    return Slice(name, len(members), means)


def confusions(rows: AnsweredRows) -> tuple[Matrix, ...]:
    """Count how often rows, or words, with a gold label were answered with each label: a matrix for each system.

    Empty if answers are no labels, or of more than `MOST_LABELS`.
    """
    if labels_words(rows) and "words" not in rows.rows.table.column_names:
        return ()
    truth = _flat(rows, rows.gold or ())
    seen = set(truth)
    answers = dict[str, list[Sequence[Any]]]()
    for system, restarts in rows.answers.items():
        answers[system] = [_flat(rows, restart) for restart in restarts]
        seen.update(*answers[system])
    if not all(isinstance(label, str | int) for label in seen):
        return ()
    known = getattr(rows.task.problem, "labels", ())
    labels = [label for label in known if label in seen] or sorted(seen, key=str)
    if not 1 < len(labels) <= MOST_LABELS or not seen <= set(labels):
        return ()
    return tuple(_confusion(system, labels, truth, of_restarts) for system, of_restarts in answers.items())


def _flat(rows: AnsweredRows, values: Sequence[Any]) -> Sequence[Any]:
    """Return the labels of all rows, or of all words."""
    return list(chain.from_iterable(values)) if labels_words(rows) else values


def labels_words(rows: AnsweredRows) -> bool:
    """Whether each word of a row has a label, instead of the whole row."""
    gold = rows.gold or ()
    return bool(gold) and all(isinstance(value, list) for value in gold)


def _confusion(system: str, labels: Sequence[Any], gold: Sequence[Any], restarts: Sequence[Sequence[Any]]) -> Matrix:
    """Count the answers of a system: the mean over its restarts."""
    counts = Counter[tuple[Any, Any]]()
    for answers in restarts:
        counts.update(zip(gold, answers, strict=True))
    lines = []
    for label in labels:
        means = {answer: counts[label, answer] / len(restarts) for answer in labels}
        whole = sum(means.values()) or 1.0
        entries = []
        for answer, mean in means.items():
            text = f"{mean:.1f}".removesuffix(".0")
            entries.append(Entry(mean, text, mean / whole, answer == label))
        lines.append((str(label), tuple(entries)))
    return Matrix(system, "gold", tuple(map(str, labels)), tuple(lines))
