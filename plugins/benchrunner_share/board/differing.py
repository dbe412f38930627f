"""The rows of a task in which the systems of a board differ, and which systems gave each answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from benchrunner.results import CellResult
from benchrunner_report import Disagreement, graded
from benchrunner_statistics import AnsweredRows


@final
@dataclass(frozen=True)
class Given:
    """An answer, with the systems most of whose restarts gave it."""

    answer: str
    systems: tuple[str, ...]
    grade: float


def differing_rows(cells: Sequence[CellResult]) -> Disagreement | str:
    """Collect the rows of the first dev split in which the systems of some cells differ most.

    Returns a sentence instead if there are none to show.
    """
    cells = [cell for cell in cells if cell.restarts]
    if len(cells) < 2:
        return "Rows in which systems differ need two systems."
    task, split = cells[0].cell.task, cells[0].cell.task.named("dev")[0]
    runner = cells[0].runner
    if runner is None:
        return "The metric of this task is not computed from answers."
    rows = runner.planner.rows(task, split)
    answered = AnsweredRows.given(cells, split, rows)
    return Disagreement.of(answered, graded(answered))


def given_answers(row: Mapping[str, Any], systems: Sequence[str]) -> list[Given]:
    """Group the systems by the answer that most of their restarts gave to a row; the answer of most comes first."""
    groups = defaultdict[tuple[str, float], list[str]](list)
    for system, answers in zip(systems, row["a"], strict=True):
        text, _, grade = answers[0]
        groups[text, grade].append(system)
    given = [Given(text, tuple(names), grade) for (text, grade), names in groups.items()]
    return sorted(given, key=lambda answer: -len(answer.systems))
