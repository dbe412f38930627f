"""How a page grades the answers to rows: right or wrong, or by figures such as F1 or the distance from gold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from benchrunner_statistics import AnsweredRows

DISTANCE = "from gold"
"""The unit of grades that are distances."""


@final
@dataclass(frozen=True)
class Grading:
    """The grades of all answers to the rows of a split."""

    grades: Mapping[str, Any]
    """System -> grades as an array (restarts, rows); the highest is the best."""
    unit: str
    """What grades are: `f1` or the name of another metric, `from gold` for distances; empty for right and wrong."""
    rule: str
    """The rule in one sentence, for people."""
    scale: float
    """Factor by which pages multiply grades; below zero where less is better."""

    @property
    def title(self) -> str:
        """What means of grades are, with the factor of pages."""
        if not self.unit:
            return "% of answers that are right"
        return "mean distance from gold" if self.unit == DISTANCE else f"mean {self.unit} of single rows"

    def mean(self, system: str, rows: Any = slice(None)) -> float:
        """Return the mean grade of a system over its restarts and some rows, as pages show it."""
        return float(self.grades[system][:, rows].mean()) * self.scale


def graded(rows: AnsweredRows) -> Grading:
    """Grade the answers to rows. They are right or wrong unless a wrong one has a grade that is not 0."""
    import numpy as np

    rule = rows.rule
    if rule is None:
        return Grading({}, "", "", 100.0)
    grades = {}
    right = {}
    is_graded = False
    for system, restarts in rows.grades.items():
        grades[system] = np.array(restarts, dtype=float)
        right[system] = np.array(rows.right[system], dtype=float)
        between = (grades[system] != 0) & (right[system] == 0)
        is_graded = is_graded or bool(between.any() or (grades[system] < 0).any())
    if not is_graded:
        return Grading(right, "", rule.rule, 100.0)
    if rule.metric is None:
        return Grading(grades, DISTANCE, "A number is the better the closer it is to gold.", -1.0)
    direction = "lower" if rule.metric.lower_is_better else "higher"
    words = f"An answer is the better the {direction} its {rule.metric.name} is."
    return Grading(grades, rule.metric.name, words, rule.metric.gain(rule.metric.scale))
