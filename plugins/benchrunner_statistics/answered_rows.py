"""The rows of a split with gold and the answers of several fits, and which of these answers are right."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar, final

from benchrunner import FitError, Metric, RequestError, Rows, Task, gold_rows
from benchrunner.engine import metrics
from benchrunner.results import CellResult, Fit, Runner, predicting, read_prediction

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

TOLERANCE = 0.1
"""Largest distance of a right number from gold, as a share of the range of the gold numbers: 0.5 on a scale from 0 to
5. A report needs some limit for tasks that are scored by a correlation; metrics do not use it."""


@final
@dataclass(frozen=True)
class RightAnswers:
    """The rule by which the answers to some rows are graded, and are right or wrong."""

    gold: Sequence[Any]
    """Gold value of each row."""
    rule: str
    """The rule in one sentence, for people."""
    metric: Metric | None
    """The metric whose gains of single rows are the grades. Without a metric, the grade of a number is its distance
    from gold below zero, and that of any other answer is 1 if it equals gold, else 0."""
    _grade: Callable[[Any, Any], float]
    """Takes gold and an answer."""
    _least: Sequence[float]
    """The lowest grade of a right answer to each row."""
    _known: dict[tuple[int, Hashable], float] = field(default_factory=dict, repr=False, compare=False)
    """Row and answer -> grade of the answer: restarts often give the same answer."""

    def grades(self, answers: Sequence[Any]) -> list[float]:
        """Return the grade of the answer to each row."""
        if len(answers) != len(self.gold):
            raise ValueError(f"{len(answers)} answers to {len(self.gold)} rows")
        return [self._graded(row, answer) for row, answer in enumerate(answers)]

    def judge(self, answers: Sequence[Any]) -> list[bool]:
        """Say for each row whether its answer is right."""
        return list(map(operator.ge, self.grades(answers), self._least))

    def _graded(self, row: int, answer: Any) -> float:
        if isinstance(answer, list):  # cannot be a key
            return self._grade(self.gold[row], answer)
        key = (row, answer)
        if key not in self._known:
            self._known[key] = self._grade(self.gold[row], answer)
        return self._known[key]


def right_answers(task: Task, gold: Sequence[Any], table: pa.Table | None = None) -> RightAnswers:
    """Choose the rule for the rows of a task. `table` has the rows, for metrics that read columns.

    If a metric of the task scores single rows, an answer is right if no answer scores better. Else a number is right
    if it is close to gold, and any other answer if it equals gold.
    """
    for metric in task.metrics:
        if metric.per_row and metric.computed_from == metrics.ANSWERS:
            extreme = "lowest" if metric.lower_is_better else "highest"
            rule = f"An answer is right if its {metric.name} is the {extreme} possible."
            rows = gold_rows(metric, gold, table)
            best = map(task.problem.best_answer, gold)
            grade = partial(_gain_of_row, metric)
            return RightAnswers(rows, rule, metric, grade, list(map(grade, rows, best)))
    if gold and all(isinstance(value, float) for value in gold):
        limit = TOLERANCE * (max(gold) - min(gold))
        rule = f"An answer is right if it is at most {limit:.3g} away from gold, {TOLERANCE:.0%} of the range of gold."
        return RightAnswers(gold, rule, None, lambda value, answer: -abs(value - answer), [-limit] * len(gold))
    rule = "An answer is right if it equals gold."
    return RightAnswers(gold, rule, None, lambda value, answer: float(value == answer), [1.0] * len(gold))


def _gain_of_row(metric: Metric, gold: Any, answer: Any) -> float:
    assert metric.per_row is not None
    return metric.gain(metric.per_row(gold, answer))


def kept_figures(fit: Fit, rows: Rows, runner: Runner) -> Mapping[str, list[Any]]:
    """Compute figures of rows, such as probabilities, from kept outputs.

    Raises a `FitError` if the outputs were removed: nothing is predicted.
    """
    if fit.method != predicting.MAJORITY and not any((runner.folder(fit).path / "outputs").glob("*.npy")):
        raise FitError(f"The outputs of the fit {fit.id} were removed. Repeat the command of the study.")
    return predicting.extra_figures(fit, rows, runner)


@final
@dataclass(frozen=True)
class AnsweredRows:
    """The rows of a split with the answers of fits."""

    task: Task
    split: str
    rows: Rows
    gold: Sequence[Any] | None
    """Gold value of each row; None if the split has no labels."""
    seeds: Mapping[str, tuple[int, ...]]
    """Backbone -> seeds of its restarts, in the order of its answers."""
    answers: Mapping[str, tuple[list[Any], ...]]
    """Backbone -> for each restart, one answer for each row."""

    @cached_property
    def rule(self) -> RightAnswers | None:
        """The rule by which answers are right; None if the split has no labels."""
        return None if self.gold is None else right_answers(self.task, self.gold, self.rows.table)

    @cached_property
    def grades(self) -> Mapping[str, list[list[float]]]:
        """Backbone -> for each restart, the grade of the answer to each row; empty if there are no labels."""
        return {} if self.rule is None else self._of_answers(self.rule.grades)

    @cached_property
    def right(self) -> Mapping[str, list[list[bool]]]:
        """Backbone -> for each restart, whether the answer to each row is right; empty if there are no labels."""
        return {} if self.rule is None else self._of_answers(self.rule.judge)

    def _of_answers(self, judge: Callable[[Sequence[Any]], list[T]]) -> dict[str, list[list[T]]]:
        """Return what a rule says of the answers of every backbone and restart."""
        return {backbone: list(map(judge, restarts)) for backbone, restarts in self.answers.items()}

    @property
    def text_columns(self) -> list[str]:
        """Names of the columns that hold the questions: all but the labels and what the task keeps besides."""
        others = (*self.task.problem.label_columns, *self.task.kept_columns)
        return [name for name in self.rows.table.column_names if name not in others]

    @classmethod
    def kept(cls, cells: Sequence[CellResult], split: str) -> AnsweredRows:
        """Collect the kept answers of every system's restarts to a split; `cells` are the systems' results on a task.

        Raises a `RequestError` if the data is missing or changed since the fits answered it, and a `FitError` if a fit
        has no kept answers.
        """
        task, runner = cells[0].cell.task, cells[0].runner
        if runner is None:
            raise RequestError("This result has no runner, so no answers can be read: take the result of run_study.")
        rows = runner.planner.rows(task, split)
        for cell in cells:
            for fit in cell.restarts:
                if read_prediction(cell.predicted(fit, split).folder).data != rows.fingerprint:
                    what = f"The data of {task.name} ({split}) changed since the fit {fit.id} answered it."
                    raise RequestError(f"{what} Repeat the command of the study.")
        return cls.given(cells, split, rows)

    @classmethod
    def given(cls, cells: Sequence[CellResult], split: str, rows: Rows) -> AnsweredRows:
        """Collect the answers of every system's restarts to the rows of a split; `cells` are as those of `kept`."""
        task = cells[0].cell.task
        seeds = {}
        answers = {}
        for cell in cells:
            if cell.restarts:
                seeds[cell.cell.system] = tuple(fit.seed for fit in cell.restarts)
                answers[cell.cell.system] = tuple(cell.predicted(fit, split).answers for fit in cell.restarts)
        return cls(task, split, rows, task.problem.gold(rows.table), seeds, answers)
