"""The rows of a task in which the systems of a board differ, without texts of the data unless its owner allows them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from benchrunner.results import AnsweredRows, CellResult
from benchrunner_report.disagreement import disagreement
from benchrunner_report.grading import graded

MOST_ROWS = 40
"""Largest number of rows of a task on its page."""
SHOWN_NAMES = 3
"""Number of systems that are named beside an answer; the others are in a part that opens."""


@final
@dataclass(frozen=True)
class Given:
    """An answer, with the systems most of whose restarts gave it."""

    answer: str
    systems: tuple[str, ...]
    grade: float

    @property
    def first(self) -> str:
        """The names of a few systems."""
        return ", ".join(self.systems[:SHOWN_NAMES])

    @property
    def others(self) -> str:
        """The names of the other systems; empty if there are none."""
        return ", ".join(self.systems[SHOWN_NAMES:])


@final
@dataclass(frozen=True)
class Row:
    """A row in which systems differ."""

    number: int
    """Number of the row, from 1."""
    texts: tuple[tuple[str, str], ...]
    """Name and text of each column; empty if texts are not shown."""
    gold: str
    answers: tuple[Given, ...]
    """The answers, that of most systems first."""


@final
@dataclass(frozen=True)
class Differing:
    """The rows of a split in which systems differ most."""

    split: str
    total: int
    differing: int
    """Number of rows in which systems differ; some may not be listed."""
    rows: tuple[Row, ...]
    with_rows: bool
    is_graded: bool
    """Whether answers have grades, other than right and wrong."""


def differing_rows(cells: Sequence[CellResult], *, with_rows: bool) -> Differing | str:
    """Collect the rows of the first dev split in which the systems of some cells differ most.

    Returns a sentence instead if there are none to show. Without `with_rows`, texts, gold and what is right are left
    out: the answers are public, and the rest may not be.
    """
    cells = [cell for cell in cells if cell.restarts]
    if len(cells) < 2:
        return "Rows in which systems differ need two systems."
    task, split = cells[0].cell.task, cells[0].cell.task.named("dev")[0]
    runner = cells[0].runner
    if runner is None:
        return "The metric of this task is not computed from answers."
    rows = runner.planner.rows(task, split)
    gold = task.problem.gold(rows.table)
    answers = {}
    seeds = {}
    for cell in cells:
        seeds[cell.cell.system] = tuple(fit.seed for fit in cell.restarts)
        answers[cell.cell.system] = tuple(cell.predicted(fit, split).answers for fit in cell.restarts)
    answered = AnsweredRows(task, split, rows, gold, seeds, answers)
    found = disagreement(answered, graded(answered))
    listed = []
    for row in found.rows[:MOST_ROWS]:
        texts = tuple(zip(found.columns, row["t"], strict=True)) if with_rows else ()
        given = _given(row, found.systems)
        listed.append(Row(row["n"] + 1, texts, row["g"] if with_rows else "", given))
    return Differing(split, found.total, found.differing, tuple(listed), with_rows, bool(found.unit))


def _given(row: dict[str, Any], systems: Sequence[str]) -> tuple[Given, ...]:
    """Group the systems by the answer that most of their restarts gave to a row."""
    groups = defaultdict[tuple[str, float], list[str]](list)
    for system, answers in zip(systems, row["a"], strict=True):
        text, _, grade = answers[0]
        groups[text, grade].append(system)
    given = []
    for (text, grade), names in groups.items():
        given.append(Given(text, tuple(names), grade))
    return tuple(sorted(given, key=lambda answer: -len(answer.systems)))
