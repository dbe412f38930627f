"""The rows of a split with their gold values and the answers of several fits, for comparisons of single rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.runs.folder import read_prediction
from benchrunner.runs.predicting import predict
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import CellResult
from benchrunner.studies.right_answers import RightAnswers, right_answers
from benchrunner.tasks.task import Task

if TYPE_CHECKING:
    import pandas


@final
@dataclass(frozen=True)
class AnsweredRows:
    """The rows of one split of a task with the answers of fits, grouped by backbone."""

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
    def right(self) -> Mapping[str, list[list[bool]]]:
        """Backbone -> for each restart, whether the answer to each row is right; empty if there are no labels."""
        rule = self.rule
        if rule is None:
            return {}
        return {backbone: list(map(rule.judge, restarts)) for backbone, restarts in self.answers.items()}

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
            raise RequestError("The result has no runner, so that answers cannot be read.")
        fingerprint = runner.planner.rows(task, split).fingerprint
        answers = dict[str, list[Any]]()
        for cell in cells:
            for fit in cell.restarts:
                predicted = cell.predicted(fit, split)
                if read_prediction(predicted.folder).data != fingerprint:
                    raise RequestError(f"The data of {task.name} ({split}) changed since the fit {fit.id} answered it.")
                answers[fit.id] = predicted.answers
        fits = {cell.cell.system: cell.restarts for cell in cells}
        return answered_rows(task, split, fits, runner, lambda fit, _: answers[fit.id])

    def frame(self) -> pandas.DataFrame:
        """Return a table with a line for each row: its texts, gold, every answer, and the share of right restarts."""
        import pandas

        count, own = len(self.rows), dict(self._columns())
        columns: dict[str, Any] = {"task": [self.task.name] * count, "split": [self.split] * count, "row": range(count)}
        for name in self.text_columns:
            shown = f"{name} (text)" if name in columns or name in own else name
            columns[shown] = self.rows.table.column(name).to_pylist()
        return pandas.DataFrame(columns | own)

    def _columns(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield the columns about gold and answers, by name."""
        if self.gold is not None:
            yield "gold", list(self.gold)
        for backbone, restarts in self.answers.items():
            for seed, answers in zip(self.seeds[backbone], restarts, strict=True):
                yield f"{backbone} seed {seed}", answers
            if self.rule is not None:
                right = zip(*self.right[backbone], strict=True)
                yield f"{backbone} right", [sum(row) / len(row) for row in right]


def answered_rows(
    task: Task,
    split: str,
    fits: Mapping[str, Sequence[Fit]],
    runner: Runner,
    answers_of: Callable[[Fit, str], list[Any]] | None = None,
) -> AnsweredRows:
    """Collect the answers of finished fits to a split; `fits` maps backbones to their restarts.

    `answers_of` gives the answers of a fit to a split. By default, answers that were kept are read and others are
    predicted, for which the fit's weights are needed.
    """
    answers_of = answers_of or (lambda fit, name: predict(fit, name, runner).answers)
    rows = runner.planner.rows(task, split)
    seeds, answers = dict[str, tuple[int, ...]](), dict[str, tuple[list[Any], ...]]()
    for backbone, restarts in fits.items():
        if restarts:
            seeds[backbone] = tuple(fit.seed for fit in restarts)
            answers[backbone] = tuple(answers_of(fit, split) for fit in restarts)
    gold = task.problem.gold(rows.table)
    return AnsweredRows(task, split, rows, gold, seeds, answers)
