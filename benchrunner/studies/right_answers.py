"""Decide for single rows whether an answer is right, for tasks of every kind."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

from benchrunner.metrics import ANSWERS, GoldRow, Metric, gold_rows
from benchrunner.tasks.task import Task

if TYPE_CHECKING:
    import pyarrow as pa

EQUAL = "An answer is right if it equals gold."
"""Rule for labels."""

TOLERANCE = 0.1
"""Largest distance of a right number from gold, as a share of the range of the gold numbers: 0.5 on a scale from 0 to
5. A report needs some limit for tasks that are scored by a correlation; metrics do not use it."""


@final
@dataclass(frozen=True)
class RightAnswers:
    """The rule by which the answers to some rows are right or wrong."""

    gold: Sequence[Any]
    """Gold value of each row."""
    rule: str
    """The rule in one sentence, for people."""
    _judge: Callable[[Any, Any], bool]
    """Takes gold and an answer."""
    _known: dict[tuple[int, Hashable], bool] = field(default_factory=dict, repr=False, compare=False)
    """Row and answer -> whether the answer is right: restarts often give the same answer."""

    def judge(self, answers: Sequence[Any]) -> list[bool]:
        """Say for each row whether its answer is right."""
        if len(answers) != len(self.gold):
            raise ValueError(f"{len(answers)} answers to {len(self.gold)} rows")
        return [self._is_right(row, answer) for row, answer in enumerate(answers)]

    def _is_right(self, row: int, answer: Any) -> bool:
        if isinstance(answer, list):  # cannot be a key
            return self._judge(self.gold[row], answer)
        key = (row, answer)
        if key not in self._known:
            self._known[key] = self._judge(self.gold[row], answer)
        return self._known[key]


def right_answers(task: Task, gold: Sequence[Any], table: pa.Table | None = None) -> RightAnswers:
    """Choose the rule for the rows of a task. `table` has the rows, for metrics that read columns.

    If a metric of the task scores single rows, an answer is right if no answer scores higher. Else a number is right
    if it is close to gold, and any other answer if it equals gold.
    """
    metric = next((metric for metric in task.metrics if metric.per_row and metric.computed_from == ANSWERS), None)
    if metric is not None:
        rule = f"An answer is right if its {metric.name} is the highest possible."
        return RightAnswers(gold_rows(metric, gold, table), rule, _by(metric, task))
    if gold and all(isinstance(value, float) for value in gold):
        limit = TOLERANCE * (max(gold) - min(gold))
        return RightAnswers(
            gold,
            f"An answer is right if it is at most {limit:.3g} away from gold, {TOLERANCE:.0%} of the range of gold.",
            lambda value, answer: bool(abs(value - answer) <= limit),
        )
    return RightAnswers(gold, EQUAL, lambda value, answer: bool(value == answer))


def _by(metric: Metric, task: Task) -> Callable[[Any, Any], bool]:
    """Judge by a metric of single rows: an answer is right if it scores as high as the best answer."""
    score = metric.per_row
    assert score is not None

    def is_right(gold: Any, answer: Any) -> bool:
        best = task.problem.best_answer(gold.gold if isinstance(gold, GoldRow) else gold)
        return score(gold, answer) >= score(gold, best)

    return is_right
