"""Studies: systems (rows) x columns of fits, built from a command line, from Python, or from a study file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

from benchrunner.console.printing import shortened
from benchrunner.errors import RequestError, UnknownName, closest_names
from benchrunner.io.decoding import key_of
from benchrunner.leaderboards.published import PublishedRow
from benchrunner.parameters.recipes import Grid, NamedRecipe
from benchrunner.studies.cells import Cell, Fitting, Selection
from benchrunner.tasks.task import Task, Term

MOST_FITS = 1_000_000
"""Largest number of fits in a study: more is a slip of the hand, and planning them would fill the memory."""
FULL = "full"
"""Name of the scale that every study has: the file with the defaults of its parameters."""
Place = tuple[str, str]
"""A cell of the table: the names of a system and of a column."""


@final
@dataclass(frozen=True)
class System:
    """What is compared: a backbone, with a method and the commands that build it."""

    name: str
    backbone: str
    """Name, folder, hub id, `run:ID` of a finished fit, or `concat:A,B` of several backbones side by side."""
    family: str | None = None
    """Plugin that loads the backbone, as if it were `PLUGIN:BACKBONE`."""
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
    """Place of the system on the figure's axis."""

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
    """A comparison of systems by columns, which `run_study` runs; `compared` and `study_of_file` build it."""

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
    """Names of systems that are tested, each with the system that it is compared with; each stands first at most once.
    Empty means every system against the first."""
    scale: Scale = field(default_factory=Scale)
    axis: str = ""
    """What the axis of a figure shows, along which systems are points; empty for a table."""
    board: str = ""
    """Leaderboard that takes answers of the study's fits; the result says with which command."""
    systems_down: bool = False
    """Whether the table has a row for each system, as papers have; else the columns are its rows."""

    def __post_init__(self) -> None:
        fits = sum(cell.fitting.grid.size * len(cell.fitting.seeds) for cell in self.cells)
        if fits > MOST_FITS:
            raise RequestError(
                f"A study has at most {MOST_FITS:,} fits, and this one has {shortened(fits)}: use fewer backbones, "
                "methods, tasks, grid points or restarts."
            )

    @property
    def without_cells(self) -> Study:
        """The study without its cells and stages, which follow from the systems and columns."""
        return replace(self, cells=(), stages=())

    @property
    def every_cell(self) -> tuple[Cell, ...]:
        """The cells of first tasks, then those of the columns."""
        return (*self.stages, *self.cells)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the systems. In a comparison of several methods, a system is named `BACKBONE (METHOD)`."""
        return tuple(system.name for system in self.systems)

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

    @property
    def fitting(self) -> Fitting | None:
        """How the fits of all cells are made; None if cells differ."""
        if not self.cells:
            return None
        fitting = self.cells[0].fitting
        return fitting if all(cell.fitting == fitting for cell in self.cells) else None

    def scored_splits(self, task: Task) -> tuple[str, ...]:
        """Return the names of all splits of a task that are scored: its dev splits, then its test splits."""
        splits = dict.fromkeys(task.named("dev"))
        for cell in self.every_cell:
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
        """The published rows that no system is shown with and that have a figure in the study's columns."""
        shown = {system.published_name for system in self.systems}
        columns = {column.name for column in self.columns}
        alone = []
        for row in self.published:
            if row.name not in shown and columns & row.cells.keys():
                alone.append(row)
        return tuple(alone)

    def published_figure(self, system: str, column: str) -> float | None:
        """Return the figure of a published row in a column; None if there is none."""
        for row in self.published:
            if row.name == system and column in row.cells:
                return row.cells[column]
        return None

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
        raise RequestError(f"Name one or more of the {kind}s of {study}: {', '.join(extra)}.")
    return {known[name.casefold()] for name in requested}


def compared(
    backbones: Sequence[str],
    tasks: Sequence[Task],
    grid: Grid | None = None,
    *,
    seeds: tuple[int, ...] = (0,),
    changes: Mapping[str, Any] | None = None,
    preset: NamedRecipe | None = None,
    methods: Sequence[str] = (),
    keep: str = "selected",
    selection: Selection | None = None,
    tests: Sequence[str] = (),
    limit_dev: int | None = None,
) -> Study:
    """Build the study of all backbones, with each of the methods, on all tasks.

    No method means each task's own. `tests` are the names of labelled test splits that are scored beside dev, in the
    tasks that have them. The other arguments are those of `Fitting` and `Cell`.
    """
    selection = selection or Selection()
    fitting = Fitting(grid or Grid(), seeds, changes or {}, preset, keep, limit_dev)
    _check(backbones, tasks, methods, selection, tests)
    systems = []
    columns = []
    cells = []
    for backbone in backbones:
        for method in methods or (None,):
            name = backbone if method is None or len(methods) < 2 else named_by_method(backbone, method)
            systems.append(System(name, backbone, method=method))
    for task in tasks:
        scored = tuple(split for split in task.named("test") if split in tests)
        of_task = list(_columns(task, scored))
        columns += of_task
        for system in systems:
            cell = Cell(
                system.name,
                task,
                selection=selection,
                tests=scored,
                backbone=system.backbone,
                method=system.method,
                fitting=fitting,
                columns=tuple(column.name for column in of_task),
            )
            cells.append(cell)
    return Study(tuple(systems), tuple(columns), tuple(cells))


def _check(
    backbones: Sequence[str],
    tasks: Sequence[Task],
    methods: Sequence[str],
    selection: Selection,
    tests: Sequence[str],
) -> None:
    """Raise a `RequestError` if nothing is compared, if something is named twice, or if a task does not have it."""
    names = [task.name for task in tasks]
    if not backbones or not tasks:
        raise RequestError("A study needs at least one backbone and one task.")
    if len(set(backbones)) != len(backbones) or len(set(names)) != len(names):
        raise RequestError(
            f"A study may name each backbone and each task only once, not {', '.join((*backbones, *names))}."
        )
    if len(set(methods)) != len(methods):
        raise RequestError(f"A study may name each method only once, not {', '.join(methods)}.")
    known = dict[str, None]()
    for task in tasks:
        if not task.named("dev"):
            raise RequestError(f"{task.name} has no split of the role 'dev' to select on.")
        selection.metric_of(task)  # raises an error for a metric that the task does not have
        known |= dict.fromkeys(task.named("test"))
    for name in tests:
        if name not in known:
            raise UnknownName("labelled test split", name, known, where="in these tasks")


def _columns(task: Task, tests: Sequence[str]) -> Iterator[Column]:
    """Yield a column of every metric on every scored split. Differences are tested by the headline on dev."""
    dev = task.named("dev")
    for split in (*dev, *tests):
        name = row_name(task, split, len(dev) + len(tests))
        for metric in task.metrics:
            if not metric.detail:
                yield Column(
                    f"{name} {metric.name}",
                    task.name,
                    split,
                    metric.name,
                    label=task.name,
                    is_tested=metric is task.metrics[0] and split in dev,
                )


def row_name(task: Task, split: str, splits: int) -> str:
    """Name a task and a split; a task with one scored split needs no name of the split."""
    return f"{task.name} ({split})" if splits > 1 else task.name


def named_by_method(backbone: str, method: str) -> str:
    """Return the name of a backbone with one of the methods that are compared."""
    return f"{backbone} ({method})".strip()
