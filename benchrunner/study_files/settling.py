"""Settle a study file: find its tasks, and merge the options of file, scale, systems, columns and command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import final

from benchrunner.errors import RequestError
from benchrunner.runs.references import with_family
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Cell, Fitting, Selection
from benchrunner.studies.planning import ADVICE, naming
from benchrunner.studies.study import FULL, Column, Study, System
from benchrunner.studies.study_options import StudyOptions, options_read
from benchrunner.studies.system_commands import check_not_running
from benchrunner.study_files.reading import read_study_file
from benchrunner.tasks.task import Task


def study_of_file(
    name: str,
    runner: Runner,
    *,
    parameters: Mapping[str, str] | None = None,
    scale: str = FULL,
    systems: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    options: StudyOptions | None = None,
) -> Study:
    """Build the study of a study file, which `run_study` runs.

    `name` is the name of a plugin's study or the path of a .toml file. `parameters` are values of the file's
    parameters, `scale` is the name of one of its scales. `systems` and `columns` are names of some of its systems and
    columns; None means all that are not extra. `options` override the options of the file.
    """
    options = options or StudyOptions()
    full_name, path = runner.plugins.study(name)
    check_not_running(path)
    study = read_study_file(path, parameters or {}, name=full_name, scale=scale, systems=systems)
    loaded = tuple(_with_family(system, options.family, study, runner) for system in study.systems)
    study = replace(study, columns=study.columns_named(columns), systems=loaded)
    return _Settling(study, options, runner).settled()


def _with_family(system: System, family: str | None, study: Study, runner: Runner) -> System:
    """Put the prefix of its plugin before the name of a system's backbone."""
    with naming(f"{study.path}: system {system.name}"):
        backbone = with_family(system.backbone, system.family or family, runner.plugins)
    return replace(system, backbone=backbone)


@final
class _Settling:
    """Adds the cells to a study that was read from a file."""

    def __init__(self, study: Study, options: StudyOptions, runner: Runner) -> None:
        if options.method is not None:
            raise RequestError(f"The study {study.name} says which methods are used: leave the method out.")
        if options.select_by is not None:
            raise RequestError(f"In the study {study.name}, the metric of each column selects: leave select-by out.")
        options.check_names(runner.plugins)
        self._study, self._options, self._runner = study, options, runner
        self._of_file = self._read(study.recipe, "recipe")
        self._of_scale = self._read(study.scale.recipe, f"scale {study.scale.name}")
        self._of_systems = {system.name: self._read(system.recipe, f"system {system.name}") for system in study.systems}
        self._fittings = dict[tuple[StudyOptions, str], Fitting]()
        self._fields_read = set[str]()

    def _read(self, recipe: Mapping[str, str], where: str) -> StudyOptions:
        return StudyOptions.from_texts(recipe, f"{self._study.path}: {where}", self._runner.plugins)

    def settled(self) -> Study:
        """Return the study with its cells."""
        cells = tuple(_shared(self._cells()))
        self._options.check_read(self._fields_read)
        stages = tuple(self._stage(system) for system in self._study.systems if system.first is not None)
        return replace(self._study, cells=cells, stages=stages)

    def _cells(self) -> Iterator[Cell]:
        """Yield what each system needs for each column of a task."""
        for column in self._study.columns:
            if not column.task:
                continue
            of_column = self._read(column.recipe, f"column {column.name}")
            with naming(f"{self._study.name}, column {column.name}", ADVICE):
                task = _task(column, self._runner)
            for system in self._study.systems:
                with naming(f"{self._study.name}, column {column.name}", ADVICE):
                    yield self._cell(system, column, task, of_column)

    def _cell(self, system: System, column: Column, task: Task, of_column: StudyOptions) -> Cell:
        term, method = column.term(task), column.method or system.method
        fields = options_read(task, method, self._runner)
        of_parts = of_column.over(self._of_systems[system.name]).over(self._of_file)
        merged = self._options.over(self._of_scale).over(of_parts).without_unread(fields)
        self._fields_read |= fields
        keep = "all" if self._study.board and system.ensemble and merged.keep == "selected" else merged.keep
        is_dev = term.split in task.named("dev")
        return Cell(
            system.name,
            task,
            selection=Selection(merged.selection.rule, term.metric, term.split if is_dev else None),
            tests=() if is_dev else (term.split,),
            backbone=system.backbone,
            method=method,
            fitting=self._fitting(replace(merged, keep=keep, select=None), task, method),
            columns=(column.name,),
        )

    def _fitting(self, options: StudyOptions, task: Task, method: str | None) -> Fitting:
        """Return how the fits of a task are made with these options; equal options give the same value."""
        options = replace(options, method=None if method is None else (method,))
        if (options, task.name) not in self._fittings:
            (cell,) = options.study(["any"], [task], self._runner).cells
            self._fittings[options, task.name] = cell.fitting
        return self._fittings[options, task.name]

    def _stage(self, system: System) -> Cell:
        """Return the cell of the task on which a system is fine-tuned first, which has one restart."""
        assert system.first is not None
        where = f"{self._study.path}: system {system.name}: first"
        of_stage = StudyOptions.from_texts(system.first.recipe, where, self._runner.plugins)
        with naming(where):
            task = self._runner.plugins.tasks.find(system.first.task)
            merged = self._options.over(self._of_scale).over(of_stage)
            merged = replace(merged, seeds=None, restarts=None, select=None, keep="selected")
            merged = merged.without_unread(options_read(task, system.method, self._runner))
            fitting = self._fitting(merged, task, system.method)
            return Cell(system.name, task, backbone=system.backbone, method=system.method, fitting=fitting)


def _task(column: Column, runner: Runner) -> Task:
    """Find a column's task; raise a `RequestError` if the task does not have the column's metric or split."""
    task = runner.plugins.tasks.find(column.task)
    dev, metrics = task.named("dev"), [metric.name for metric in task.metrics]
    term = column.term(task)
    for kind, name, known in (
        ("dev or test split", term.split, [*dev, *task.named("test")]),
        ("metric", term.metric, metrics),
    ):
        if name not in known:
            raise RequestError(f"{task.name} has no {kind} '{name}'; it has {', '.join(known) or 'none'}.")
    return task


def _shared(cells: Iterable[Cell]) -> Iterable[Cell]:
    """Join the cells of columns that show figures of the same fits with the same selection."""
    shared = dict[tuple[object, ...], Cell]()
    for cell in cells:
        key = (cell.system, cell.task.name, cell.method, cell.selection, id(cell.fitting))
        known = shared.get(key)
        if known is not None:
            tests = tuple(dict.fromkeys((*known.tests, *cell.tests)))
            cell = replace(known, columns=(*known.columns, *cell.columns), tests=tests)
        shared[key] = cell
    return shared.values()
