"""Published results: figures of systems as their sources print them, and what each figure measures."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, final, get_args

from benchrunner.errors import PluginError
from benchrunner.io.json_form import key_of
from benchrunner.tasks.task import Task

SplitKind = Literal["dev", "test"]
"""Kind of split that a published figure was measured on."""

SPLIT_KINDS: tuple[str, ...] = get_args(SplitKind)
ALL, NONE = "all", "none"
"""Words that users may write in place of names of systems, so that no system may have these names."""


@final
@dataclass(frozen=True)
class PublishedColumn:
    """What the figures of a column measure: a metric of a task, or an average over a suite, on dev or on test."""

    kind: SplitKind
    metric: str = field(metadata=key_of("metric", "average"))
    """Name of a metric of the task, or of an average of the suite."""
    task: str = ""
    """Name of the task; empty for an average."""
    suite: str = ""
    """Name of the suite whose average the column shows; empty for a metric of a task."""
    split: str = ""
    """Split of the task that the figures were measured on; empty if the task has no such split, for example because
    the test set is hidden."""
    beside: str = ""
    """Split beside whose figures the column stands: a dev split, or a labelled test split, which `--split` shows.
    May be left out if `split` is a dev split or if the task has only one dev split."""

    def __post_init__(self) -> None:
        if self.kind not in SPLIT_KINDS:
            raise PluginError(f"A column's kind is {' or '.join(SPLIT_KINDS)}, not '{self.kind}'.")
        if bool(self.task) == bool(self.suite):
            raise PluginError("A column shows either a metric of a task or an average of a suite: give one of them.")
        if self.suite and (self.split or self.beside):
            raise PluginError("An average is over several tasks: its column has no split and stands beside no split.")

    def dev_split(self, task: Task) -> str:
        """Return the dev split of the column's task beside whose figures the column stands."""
        own = self.split if self.kind == "dev" else ""
        return self.beside or own or next(iter(task.named("dev")), "")

    def stands_beside(self, task: Task, split: str, metric: str) -> bool:
        """Return whether the column measures this metric of the task and stands beside this dev split."""
        return (self.task, self.metric) == (task.name, metric) and self.dev_split(task) == split


@final
@dataclass(frozen=True)
class PublishedRow:
    """Published figures of one system, from one source."""

    system: str
    source: str
    """Publication and table."""
    cells: Mapping[str, float]
    """Column -> figure, as printed. A column without a figure is left out."""
    variant: str = ""
    """What tells the row apart from other rows of the system, for example "ensemble"."""
    version: str = ""
    """Version of the source, where versions differ."""
    notes: str = ""
    other_data: str = ""
    """Why the figures cannot be compared with figures on the task's data. Such a row is listed with its board, and
    stands beside no figure of ours."""
    by_default: bool = False
    """Whether the row is shown beside our figures unless the user chooses other systems."""
    backbones: tuple[str, ...] = ()
    """Names of backbones that are this system: where one of them is compared, the row is shown by default too."""

    def __post_init__(self) -> None:
        if not self.system or "," in self.name or self.system in (ALL, NONE):
            raise PluginError(f"A system's name has no comma and is not {ALL} or {NONE}; found '{self.name}'.")
        if not self.cells:
            raise PluginError(f"{self.name} has no cells: a published row has at least one figure.")

    @property
    def name(self) -> str:
        """The system, with its variant in parentheses."""
        return f"{self.system} ({self.variant})" if self.variant else self.system


@final
@dataclass(frozen=True)
class PublishedFigure:
    """One published figure, with everything that says what it is."""

    board: str
    """Name of the leaderboard that lists the figure."""
    column: str
    """Name of the column on the leaderboard."""
    measures: PublishedColumn
    row: PublishedRow

    @property
    def value(self) -> float:
        """The figure, as printed."""
        return self.row.cells[self.column]

    @property
    def names(self) -> set[str]:
        """The names by which users choose the figure's system, in lower case."""
        return {self.row.system.casefold(), self.row.name.casefold()}

    def as_text(self) -> str:
        """Write the figure with one decimal, or with more if its source prints more."""
        return figure_text(self.value)

    def as_json(self) -> dict[str, Any]:
        """Return the figure as JSON values. The key `kind` says whether it was measured on dev or on test."""
        facts = {"figure": self.value, **vars(self.row), **vars(self.measures)}
        facts |= {"board": self.board, "column": self.column}
        for name in ("cells", "backbones", "beside"):
            del facts[name]
        return {name: None if value == "" else value for name, value in facts.items()}


def figure_text(value: float) -> str:
    """Write a published figure with one decimal, or with more if its source prints more."""
    return f"{value:.1f}" if round(value, 1) == value else f"{value}"


def check_rows(columns: Collection[str], rows: Collection[PublishedRow]) -> None:
    """Raise a `PluginError` for a cell that is in no column, and for figures that are given twice."""
    given = set[tuple[str, str, str, str]]()
    for row in rows:
        for column in row.cells:
            if column not in columns:
                known = ", ".join(columns) or "none"
                raise PluginError(f"{row.name} has a cell '{column}'; the columns are {known}.")
            key = row.name, row.source, row.version, column
            if key in given:
                raise PluginError(f"{row.name} has two figures in the column '{column}' from {row.source}.")
            given.add(key)
