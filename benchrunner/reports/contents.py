"""What a report shows, as plain values; `gathering` collects it and `rendering` writes it as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from benchrunner.reports.disagreement import Disagreement
from benchrunner.reports.slices import Confusion, Slice


@final
@dataclass(frozen=True)
class HeadlineCell:
    """A backbone's score in the headline table. All figures are as tables show them, times the metric's scale."""

    backbone: str
    mean: float | None
    deviation: float | None = None
    interval: tuple[float, float] | None = None
    """95% interval of the mean over other examples."""
    best: float | None = None
    """Score of the selected fit, which is optimistic because dev selected it."""
    restarts: int = 0
    difference: tuple[float, float, float] | None = None
    """Difference from the first backbone and its 95% interval: value, low, high."""
    p: float | None = None
    """p-value of the difference after Holm's correction."""
    is_clear: bool = False
    """Whether the difference survives Holm's correction."""
    reason: str = ""
    """Why a figure is absent."""


@final
@dataclass(frozen=True)
class PublishedLine:
    """The published figures of a system below a row of the headline table."""

    system: str
    figures: tuple[str, ...]
    """Figures as texts that begin with `dev` or `test`."""


@final
@dataclass(frozen=True)
class HeadlineRow:
    """A row of the headline table: a metric of a task on a dev split, or an average."""

    name: str
    metric: str
    anchor: str
    """Id of the task's section; empty for an average."""
    majority: float | None
    cells: tuple[HeadlineCell, ...]
    published: tuple[PublishedLine, ...] = ()


@final
@dataclass(frozen=True)
class Curve:
    """The loss of a fit over its steps."""

    backbone: str
    seed: int
    points: tuple[tuple[float, float], ...]
    """Steps and losses, each loss the mean of some neighbouring lines of the log."""


@final
@dataclass(frozen=True)
class GridPoint:
    """A grid point of a backbone with the scores of its restarts."""

    backbone: str
    label: str
    """Values of the recipe fields in which the grid points differ."""
    scores: tuple[float, ...]
    is_chosen: bool


@final
@dataclass(frozen=True)
class TaskReport:
    """The section of a task."""

    anchor: str
    name: str
    about: str
    metric: str
    split: str
    backbones: tuple[str, ...]
    cells: tuple[HeadlineCell, ...]
    scores: Mapping[str, tuple[float, ...]]
    """Backbone -> scores of the restarts at the chosen grid point."""
    majority: float | None
    curves: tuple[Curve, ...] = ()
    grid: tuple[GridPoint, ...] = ()
    trials: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """Backbone -> best score to expect after 1, 2, ... trials."""
    confusions: tuple[Confusion, ...] = ()
    by_length: tuple[Slice, ...] = ()
    by_label: tuple[Slice, ...] = ()
    disagreement: Disagreement | None = None
    absent: str = ""
    """Why the section shows nothing about single rows; empty if it does."""


@final
@dataclass(frozen=True)
class Cost:
    """Cost of the fits of a backbone on a task, all grid points and restarts together."""

    task: str
    backbone: str
    fits: int
    seconds: float
    tokens: float | None
    """Tokens read while training; None if a fit did not count them."""
    flops: float | None
    """Six floating-point operations for each token and trained weight; None if a fit did not count them."""
    devices: tuple[str, ...]


@final
@dataclass(frozen=True)
class ChosenRecipe:
    """The chosen grid point of a cell and its runs."""

    task: str
    backbone: str
    method: str
    values: Mapping[str, Any]
    """Recipe fields that differ from the defaults, and the learning rate."""
    selected: str
    """Id of the selected run."""
    runs: tuple[str, ...]


@final
@dataclass(frozen=True)
class DataFacts:
    """Where the rows of a split came from, and their fingerprint."""

    task: str
    split: str
    rows: int
    origin: str
    fingerprint: str


@final
@dataclass(frozen=True)
class Series:
    """A line of a figure of a study file."""

    column: str
    name: str
    at: tuple[float, ...]
    means: tuple[float | None, ...]
    deviations: tuple[float | None, ...]


@final
@dataclass(frozen=True)
class StudyTable:
    """The table of a study file: systems down, columns across."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...], bool], ...]
    """Name of a system, its figures, and whether the figures are published ones."""
    axis: str
    series: tuple[Series, ...]
    notes: tuple[str, ...]


@final
@dataclass(frozen=True)
class Report:
    """Everything that a report shows."""

    title: str
    about: str
    conclusion: str
    facts: tuple[tuple[str, str], ...]
    """Figures about the whole study: name and value as texts."""
    backbones: tuple[str, ...]
    headline: tuple[HeadlineRow, ...]
    tasks: tuple[TaskReport, ...]
    costs: tuple[Cost, ...]
    recipes: tuple[ChosenRecipe, ...]
    data: tuple[DataFacts, ...]
    versions: tuple[tuple[str, str], ...]
    command: str
    notes: tuple[str, ...]
    table: StudyTable | None = None

    @property
    def rows(self) -> Sequence[Disagreement]:
        """For each task whose answers can be read, the rows in which backbones differ."""
        return [task.disagreement for task in self.tasks if task.disagreement is not None]
