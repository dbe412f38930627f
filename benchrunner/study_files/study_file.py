"""Study files as values: systems down, columns across, with published figures. See reading.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from benchrunner.errors import RequestError, closest_names
from benchrunner.leaderboards.published import PublishedRow
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task

FULL = "full"
"""Name of the scale that every study has: the file with the defaults of its parameters."""


@final
@dataclass(frozen=True)
class Stage:
    """A task that a system is fine-tuned on before the tasks of the columns."""

    task: str
    recipe: Mapping[str, str] = field(default_factory=dict)
    """Options of `compare` for this stage, without their dashes. A stage has one restart."""


@final
@dataclass(frozen=True)
class System:
    """A row of the table: a backbone, and the commands that build it."""

    name: str
    backbone: str
    family: str | None = None
    """Plugin that loads the backbone, as if it were `PLUGIN:BACKBONE`."""
    method: str | None = None
    """Method for every column; None means each task's own."""
    make: tuple[tuple[str, ...], ...] = ()
    """Words of the benchrunner commands that build the backbone. They must be idempotent: do nothing if it exists."""
    figures: Path | None = None
    """Log that building the backbone leaves, with figures of the backbone itself."""
    recipe: Mapping[str, str] = field(default_factory=dict)
    """Options of `compare` for this system alone, without their dashes."""
    first: Stage | None = None
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
    """Place of the system on the figure's axis."""

    @property
    def published_name(self) -> str:
        """Name of the published row that is shown with this system."""
        return self.published or self.name


@final
@dataclass(frozen=True)
class Column:
    """A column of the table.

    The column shows a task's metric, a figure from the log of building the backbone, the mean of other columns, or
    only published figures.
    """

    name: str
    task: str = ""
    split: str | None = None
    """A dev split, or a test split with labels; None means the first dev split. Only dev selects."""
    metric: str | None = None
    """None means the task's headline. The metric selects the grid point and the restart too, on `split` if that is a
    dev split, else on `Task.selection_splits`."""
    method: str | None = None
    """Overrides the method of the systems and of the task."""
    figure: str = ""
    """A key of the lines in `System.figures`; the last line with the key counts."""
    mean: tuple[str, ...] = ()
    """Names of the columns whose mean this column shows."""
    recipe: Mapping[str, str] = field(default_factory=dict)
    """Options of `compare` for this column alone, without their dashes."""
    published_on: str = ""
    """What the published figures were measured on, if this is not what the column measures, for example `test`."""
    extra: bool = False
    """Whether the column is left out unless the user names it."""
    note: str = ""
    """What a reader of the column must know."""

    @property
    def is_measured(self) -> bool:
        """Whether the column has figures of its own beside published ones."""
        return bool(self.task or self.figure or self.mean)

    def term(self, task: Task) -> Term:
        """Return the metric and the split that the column shows of its task."""
        split = self.split or next(iter(task.named("dev")), "")
        return Term(task.name, split, self.metric or task.metrics[0].name)


@final
@dataclass(frozen=True)
class Scale:
    """The size at which a study runs: values of its parameters, and options of its fits."""

    name: str = FULL
    about: str = ""
    """What runs at this scale, and what its figures are good for."""
    values: Mapping[str, str] = field(default_factory=dict)
    """Parameter -> value in place of the parameter's default. It may contain parameters, as a default may."""
    recipe: Mapping[str, str] = field(default_factory=dict)
    """Options of `compare`, without their dashes, in place of those of the file, its systems and its columns."""


@final
@dataclass(frozen=True)
class StudyFile:
    """A study file with the values of its parameters."""

    name: str
    path: Path
    title: str
    about: str
    source: str
    """Publication of the published figures, and what these figures measure."""
    values: Mapping[str, str]
    """Parameter -> value, as a user would give it. Reading the file with these values gives the same study."""
    recipe: Mapping[str, str]
    """Options of `compare` for every fit, without their dashes."""
    systems: tuple[System, ...]
    columns: tuple[Column, ...]
    published: tuple[PublishedRow, ...] = ()
    """Published results; their cells are named by columns."""
    scale: Scale = field(default_factory=Scale)
    axis: str = ""
    """What the axis of a figure shows, along which systems are points; empty for a table."""
    board: str = ""
    """Leaderboard that takes answers of the study's fits; the result says with which command."""

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
        """The published rows that no system is shown with and that have a figure in the study's columns."""
        shown, columns = {system.published_name for system in self.systems}, {column.name for column in self.columns}
        return tuple(row for row in self.published if row.name not in shown and columns & row.cells.keys())

    def published_figure(self, system: str, column: str) -> float | None:
        """Return the figure of a published row in a column; None if there is none."""
        rows = (row for row in self.published if row.name == system and column in row.cells)
        return next((row.cells[column] for row in rows), None)

    def columns_named(self, names: Iterable[str] | None) -> tuple[Column, ...]:
        """Return the columns with these names, in the file's order; upper and lower case are the same.

        None means every column that is not `extra`.
        """
        extra = {column.name: column.extra for column in self.columns}
        chosen = choose(self.name, "column", extra, names)
        return tuple(column for column in self.columns if column.name in chosen)


def choose(study: str, kind: str, extra: Mapping[str, bool], names: Iterable[str] | None) -> set[str]:
    """Return those names of systems or columns that a user asks for; upper and lower case are the same.

    `extra` maps each name to whether it is left out where the user names none (`names` is None).
    """
    if names is None:
        return {name for name, left_out in extra.items() if not left_out}
    known = {name.casefold(): name for name in extra}
    requested = dict.fromkeys(name.strip() for name in names if name.strip())
    for name in requested:
        if name.casefold() not in known:
            close = closest_names(name, extra)
            hint = f" Did you mean {' or '.join(close)}?" if close else ""
            raise RequestError(f"{study} has no {kind} '{name}'.{hint} It has: {', '.join(extra)}.")
    if not requested:
        raise RequestError(f"Which {kind}s of {study}? It has: {', '.join(extra)}.")
    return {known[name.casefold()] for name in requested}
