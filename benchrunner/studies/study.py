"""Studies: systems (rows) x columns of fits, built from a command line, from Python, or from a study file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner.errors import RequestError
from benchrunner.io.json_form import WHEN_GIVEN, key_of
from benchrunner.leaderboards.published import PublishedRow, check_rows
from benchrunner.parameters.parameter import Parameter
from benchrunner.studies.cells import Cell, Fitting
from benchrunner.tasks.task import Task, Term

if TYPE_CHECKING:
    from benchrunner.runs.runner import Runner

FULL = "full"
"""Name of the scale that every study has: the file with the defaults of its parameters."""
MARGIN = Parameter(
    "margin",
    "say where systems are equivalent: which differ by this many points at most, as shown",
    None,
    float,
    above=0,
)
TRAINING_ROWS = "training rows"
"""Axis of a learning curve, on which each point stands at the number of rows that its fits learned from."""
Place = tuple[str, str]
"""A cell of the table: the names of a system and of a column."""


@final
@dataclass(frozen=True)
class System:
    """What is compared: a backbone, with a method and the commands that build it."""

    name: str
    backbone: str
    """Name, folder, hub id, or `run:ID` of a finished fit."""
    method: str | None = None
    """Method for every column; None means each task's own."""
    make: tuple[tuple[str, ...], ...] = ()
    """Words of the benchrunner commands that build the backbone. They must be idempotent: do nothing if it exists."""
    figures: Path | None = None
    """Log that building the backbone leaves, with figures of the backbone itself."""
    first: str = ""
    """Task that the backbone is fine-tuned on first; the fits of the columns start from its selected fit."""
    ensemble: bool = False
    """Whether the restarts of the chosen grid point answer together, instead of each alone."""
    published: str = ""
    """Name of the published row that is shown with this system; empty means the row with the system's own name."""
    extra: bool = False
    """Whether the system is left out unless the user names it."""
    series: str = ""
    """Name of the line that the system is a point of, if the study is a figure."""
    at: float | None = None
    """Place of the system on the figure's axis; None on the axis of training rows is the whole training set."""
    arm: str = field(default="", metadata=WHEN_GIVEN)
    """Name of the arm of which the system's backbone is one of several pre-trainings; empty without arms."""

    @property
    def published_name(self) -> str:
        """Name of the published row that is shown with this system."""
        return self.published or self.name


@final
@dataclass(frozen=True)
class Column:
    """What the systems are compared by.

    A column shows a task's metric, a figure from the log of building the backbone, the mean of other columns, or only
    published figures.
    """

    name: str
    task: str = ""
    split: str | None = None
    """A dev split, or a test split with labels; None means the first dev split. Only dev selects."""
    metric: str | None = None
    """None means the task's headline."""
    select_by: str = field(default="", metadata=key_of("select-by"))
    """Metric that selects for this column alone. Empty means that the columns of one task in a study file share one
    selection: by the metric that all of them show, or by the task's headline if they show several."""
    select_on: str = field(default="", metadata=key_of("select-on"))
    """Dev split that selects for this column alone. Empty means the dev split that all columns of the task show, or
    `Task.selection_splits` if they show several or none."""
    method: str | None = None
    """Overrides the method of the systems and of the task."""
    figure: str = ""
    """A key of the lines in `System.figures`; the last line with the key counts."""
    mean: tuple[str, ...] = ()
    """Names of the columns whose mean this column shows."""
    published_on: str = field(default="", metadata=key_of("published-on"))
    """What the published figures were measured on, if this is not what the column measures, for example `test`."""
    extra: bool = False
    """Whether the column is left out unless the user names it."""
    note: str = ""
    """What a reader of the column must know."""
    label: str = ""
    """Name of the column in sentences; empty means `name`."""
    is_tested: bool = True
    """Whether differences between systems are tested. The tests of all columns share one level."""

    @property
    def is_measured(self) -> bool:
        """Whether the column has figures of its own beside published ones."""
        return bool(self.task or self.figure or self.mean)

    @property
    def title(self) -> str:
        """Name of the column in sentences."""
        return self.label or self.name

    def term(self, task: Task) -> Term:
        """Return the metric and the split that the column shows of its task."""
        split = self.split or next(iter(task.named("dev")), "")
        return Term(task.name, split, self.metric or task.metrics[0].name)


@final
@dataclass(frozen=True)
class Scale:
    """The size at which a study runs."""

    name: str = FULL
    about: str = ""
    """What runs at this scale, and what its figures are good for."""


@final
@dataclass(frozen=True)
class Study:
    """A comparison of systems by columns, which `run_study` runs; `compared` builds it, and so do study files."""

    systems: tuple[System, ...]
    columns: tuple[Column, ...]
    cells: tuple[Cell, ...] = ()
    """The fits that the columns of tasks need, before they are planned."""
    stages: tuple[Cell, ...] = ()
    """The fits of the tasks on which systems are fine-tuned first."""
    name: str = ""
    """Name of the study file; empty if there is none."""
    path: Path | None = None
    """The study file."""
    title: str = ""
    about: str = ""
    source: str = ""
    """Publication of the published figures, and what these figures measure."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Parameter -> value, as a user would give it. Reading the file with these values gives the same study."""
    published: tuple[PublishedRow, ...] = ()
    """Published results; their cells are named by columns."""
    contrasts: tuple[tuple[str, str], ...] = ()
    """Pairs of systems, arms or series that are tested; a positive difference is in favour of the first. Empty means
    all pairs of arms, and without arms all pairs of systems. Two series are compared at every place that both have."""
    margin: float | None = field(default=None, metadata=WHEN_GIVEN)
    """The largest difference, in points as tables show them, that counts as equivalent; None tests no equivalence."""
    scale: Scale = field(default_factory=Scale)
    axis: str = ""
    """What the axis of a figure shows, along which systems are points; empty for a table."""
    board: str = ""
    """Leaderboard that takes answers of the study's fits; the result says with which command."""
    limit_dev: int | None = field(default=None, metadata=WHEN_GIVEN)
    """Number of rows of each dev split that are scored, drawn as `limit_train` rows are; None is all rows. The fits
    stay as they are."""
    systems_down: bool = False
    """Whether the table has a row for each system, as papers have; else the columns are its rows."""

    def __post_init__(self) -> None:
        MARGIN.checked(self.margin, "The margin")
        if len({cell.fitting.looks for cell in self.cells}) > 1:
            raise RequestError(
                f"{self.name or 'A study'}: all systems and columns have the same until-clear, because all of their "
                "tests share one level. Give it in the recipe of the whole file, or as an option of the command."
            )

    def reading(self, runner: Runner) -> Runner:
        """Return the runner that reads the rows of dev by which the study selects and scores."""
        settings = replace(runner.workspace.settings, limit_dev=self.limit_dev)
        return runner.in_workspace(replace(runner.workspace, settings=settings))

    @property
    def without_cells(self) -> Study:
        """The study without its cells and stages, which follow from the systems and columns."""
        return replace(self, cells=(), stages=())

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of restarts after which comparisons are looked at (`Fitting.looks`)."""
        return self.cells[0].fitting.looks if self.cells else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the systems. In a comparison of several methods, a system is named `BACKBONE (METHOD)`."""
        return tuple(system.name for system in self.systems)

    @cached_property
    def arms(self) -> dict[str, tuple[str, ...]]:
        """The arms, each with the names of its systems; empty if systems are compared as they are."""
        arms = dict[str, tuple[str, ...]]()
        for system in self.systems:
            if system.arm:
                arms[system.arm] = (*arms.get(system.arm, ()), system.name)
        return arms

    @property
    def lines(self) -> dict[str, dict[float | None, str]]:
        """The series of a figure: name -> place of each point -> name of its system, in the order of the axis."""
        lines = dict[str, dict[float | None, str]]()
        for system in sorted(self.systems, key=lambda system: axis_order(system.at)):
            if system.series:
                lines.setdefault(system.series, {})[system.at] = system.name
        return lines

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """What is compared with what: the contrasts, or without any all pairs of what is compared.

        The first of a pair stands below the other in the table.
        """
        return self.contrasts or tuple((name, other) for other, name in itertools.combinations(self.compared, 2))

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of what is compared without contrasts: the arms, or else the series and the systems without one."""
        return tuple(self.arms) or tuple(dict.fromkeys(system.series or system.name for system in self.systems))

    def members(self, name: str) -> tuple[str, ...]:
        """Return the names of the systems of an arm; a system stands for itself."""
        return self.arms.get(name, (name,))

    @property
    def backbones(self) -> tuple[str, ...]:
        """The different backbones of the systems."""
        return tuple(dict.fromkeys(system.backbone for system in self.systems))

    @property
    def methods(self) -> tuple[str, ...]:
        """The different methods of the systems; empty if each task has its own."""
        return tuple(dict.fromkeys(system.method for system in self.systems if system.method is not None))

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The different tasks of the columns."""
        return tuple({cell.task.name: cell.task for cell in self.cells}.values())

    def shown_columns(self, *, every_metric: bool = False) -> tuple[Column, ...]:
        """Return the columns of a table with a row for each system: of each task the headline, unless a file says more.

        `every_metric` adds the other metrics of each task.
        """
        if self.systems_down or every_metric:
            return self.columns
        headlines = {(task.name, task.metrics[0].name) for task in self.tasks}
        return tuple(column for column in self.columns if (column.task, column.metric) in headlines)

    @property
    def fitting(self) -> Fitting | None:
        """How the fits of all cells are made, but for their training rows; None if cells differ in more."""
        if not self.cells:
            return None
        fitting = self.cells[0].fitting.but_for_rows
        return fitting if all(cell.fitting.but_for_rows == fitting for cell in self.cells) else None

    def scored_splits(self, task: Task) -> tuple[str, ...]:
        """Return the names of all splits of a task that are scored: its dev splits, then its test splits."""
        splits = dict.fromkeys(task.named("dev"))
        for cell in (*self.stages, *self.cells):
            if cell.task.name == task.name:
                splits |= dict.fromkeys(cell.tests)
        return tuple(splits)

    @property
    def commands(self) -> dict[tuple[str, ...], str]:
        """Every different command, in the order of the systems -> the first system that needs the command."""
        commands: dict[tuple[str, ...], str] = {}
        for system in self.systems:
            for words in system.make:
                commands.setdefault(words, system.name)
        return commands

    @property
    def published_alone(self) -> tuple[PublishedRow, ...]:
        """The published rows that no system or arm is shown with and that have a figure in the study's columns."""
        shown = {system.published_name for system in self.systems} | self.arms.keys()
        columns = {column.name for column in self.columns}
        return tuple(row for row in self.published if row.name not in shown and columns & row.cells.keys())

    def check_published(self) -> None:
        """Raise a `PluginError` for a published figure that is in no column, and for figures that are given twice."""
        check_rows([column.name for column in self.columns], self.published)

    def published_figure(self, system: str, column: str) -> float | None:
        """Return the figure of a published row in a column; None if there is none."""
        for row in self.published:
            if row.name == system and column in row.cells:
                return row.cells[column]
        return None


def axis_order(at: float | None) -> float:
    """Return what sorts the places of points; the whole training set comes last."""
    return math.inf if at is None else at


def place_text(at: float | None) -> str:
    """Write the place of a point on the axis of a figure."""
    return "all" if at is None else f"{at:,.10g}"


def named_by_method(backbone: str, method: str) -> str:
    """Return the name of a backbone with one of the methods that are compared."""
    return f"{backbone} ({method})".strip()


def row_name(task: str, split: str, splits: int) -> str:
    """Name a task and a split; a task with one scored split needs no name of the split."""
    return f"{task} ({split})" if splits > 1 else task
