"""Reads the kept answers and probabilities of a study's fits. Nothing is fitted or predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from benchrunner import FitError, Rows, Task, Undefined
from benchrunner.results import CellResult, Fit, Runner, predicting
from benchrunner_calibration.label_answers import SMALLEST, LabelAnswers
from benchrunner_calibration.measures import Units
from benchrunner_statistics import AnsweredRows

PROBABILITIES = "probabilities"
"""Name of the figure of `Problem.extra_figures` with the probabilities of a row's labels."""
ROUNDING = 1e-3
"""Largest distance of the sum of a row's probabilities from 1: 16-bit outputs have three digits."""


@final
@dataclass(frozen=True)
class SystemAnswers:
    """The answers of a system's restarts to the rows of a split that are scored."""

    name: str
    """Name of the system."""
    cell: CellResult
    split: str
    units: Units
    restarts: tuple[LabelAnswers, ...]
    notes: tuple[str, ...]
    """Remarks about the rows."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.units.numbers)


def answers_of(cell: CellResult, split: str, runner: Runner, name: str) -> SystemAnswers:
    """Read the answers of the restarts at a cell's chosen grid point to the rows of a split that are scored.

    `name` is the name of the system.

    Raises `Undefined` where a problem or a method gives no probabilities of labels, and another error of benchrunner
    where answers, outputs or data are gone.
    """
    if not cell.restarts:
        reasons = "; ".join(dict.fromkeys(cell.lost.values()))
        raise FitError(f"no fit has scores: {reasons or 'none is finished'}")
    check_method(cell.restarts[0])
    kept = AnsweredRows.kept([cell], split)
    gold = label_numbers(kept.task, kept.gold)
    restarts = []
    for fit, answers in zip(cell.restarts, kept.answers[cell.cell.system], strict=True):
        given = label_numbers(kept.task, answers)
        restarts.append(LabelAnswers(gold, given, probabilities_of(fit, kept.task, kept.rows, runner)))
    units = units_of(kept.task, kept.rows, max(1, cell.restarts[0].folds))
    return SystemAnswers(name, cell, split, units, tuple(restarts), kept.rows.notes)


def check_method(fit: Fit) -> None:
    """Raise `Undefined` for the majority answer: it says which label is the most frequent, not how frequent."""
    if fit.method == predicting.MAJORITY:
        raise Undefined("the method 'majority' gives an answer, and no probabilities")


def label_numbers(task: Task, values: Sequence[Any] | None) -> np.ndarray:
    """Return labels as numbers from 0, (rows,); raise `Undefined` where a row has no single right label."""
    if values is None:
        raise Undefined("the rows have no labels")
    labels = getattr(task.problem, "labels", None)
    numbers = values
    if labels is not None and all(isinstance(value, str) for value in values):
        number_of = {label: number for number, label in enumerate(labels)}
        numbers = [number_of[value] for value in values]
    if not all(type(number) is int for number in numbers):
        raise Undefined(f"a question of the kind '{task.problem.name}' has no single right label of several")
    return np.array(numbers, dtype=np.int64)


def probabilities_of(fit: Fit, task: Task, rows: Rows, runner: Runner) -> np.ndarray:
    """Return the kept probabilities of a fit for rows, (rows, labels)."""
    if not any((runner.folder(fit).path / "outputs").glob("*.npy")):
        raise FitError(f"the outputs of the fit {fit.id} were removed: repeat the command of the study")
    figures = predicting.extra_figures(fit, rows, runner)
    if PROBABILITIES not in figures:
        raise Undefined(f"a question of the kind '{task.problem.name}' has no probabilities of labels")
    return _as_matrix(figures[PROBABILITIES], task)


def _as_matrix(listed: Sequence[Sequence[float]], task: Task) -> np.ndarray:
    """Return the probabilities of rows, (rows, labels); 0 for labels that a row with fewer labels does not have."""
    most = max(map(len, listed), default=0)
    matrix = np.zeros((len(listed), most))
    for row, given in enumerate(listed):
        total = sum(given)
        if abs(total - 1) > ROUNDING:
            raise Undefined(f"a question of the kind '{task.problem.name}' has probabilities that do not add up to 1")
        matrix[row, : len(given)] = np.maximum(np.asarray(given) / total, SMALLEST)
    return matrix


def units_of(task: Task, rows: Rows, folds: int) -> Units:
    """Return which rows belong together: those of a cluster, where the task has clusters."""
    if task.clusters not in rows.table.column_names:
        return Units(np.arange(len(rows)), are_clusters=False, folds=folds)
    clusters = rows.table.column(task.clusters).to_pylist()
    numbers = dict[Any, int]()
    of_rows = np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters])
    return Units(of_rows, are_clusters=True, folds=folds)
