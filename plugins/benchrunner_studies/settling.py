"""Settle a study file: find its tasks, and merge the options of file, scale, systems, columns and command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import final

from benchrunner import Recipe, RequestError, Task
from benchrunner.results import Runner, Study, StudyOptions, cells, planning, study as parts
from benchrunner_studies.checks import columns_named
from benchrunner_studies.reading import StudyFile, read_study_file
from benchrunner_studies.recipes import read_recipe
from benchrunner_studies.tables import StageTable, read_tables


def study_of_file(
    name: str,
    runner: Runner,
    *,
    parameters: Mapping[str, str] | None = None,
    scale: str | None = None,
    systems: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    options: StudyOptions | None = None,
) -> Study:
    """Build the study of a study file, which `run_study` runs.

    `name` is the name of a plugin's study or the path of a .toml file. `parameters` are values of the file's
    parameters, and of parameters of recipes and methods that the file has none for. `scale` is the name of one of its
    scales. `systems` and `columns` are names of some of its systems and columns; None means all that are not extra.
    `options` override the options of the file.
    """
    full_name, path = planning.study_file(name, runner.plugins)
    of_file, of_fits = dict(parameters or {}), dict[str, str]()
    for own in of_file.keys() - read_tables(path).parameters.keys():
        if "." in own or own.replace("-", "_") in Recipe().as_dict():
            of_fits[own] = of_file.pop(own)
    options = (options or StudyOptions()).setting(of_fits, runner.plugins)
    file = read_study_file(path, of_file, name=full_name, scale=scale, systems=systems)
    study = replace(file.study, columns=columns_named(file.study, columns))
    return _Settling(replace(file, study=study), file.study.columns, options, runner).settled()


@final
class _Settling:
    """Adds the cells to a study that was read from a file."""

    def __init__(
        self, file: StudyFile, every_column: Sequence[parts.Column], options: StudyOptions, runner: Runner
    ) -> None:
        """`every_column` are all columns of the file: what they select does not depend on which are computed."""
        study = file.study
        if options.method is not None:
            raise RequestError(f"The study {study.name} says which methods are used: leave the method out.")
        if options.select_by is not None:
            raise RequestError(f"In the study {study.name}, the metric of each column selects: leave select-by out.")
        if options.start is not None:
            raise RequestError(f"The study {study.name} says with `first` where fits start: leave start out.")
        if options.folds is not None:
            raise RequestError(f"The study {study.name} names its tasks: leave folds out, and name glue/rte@5 there.")
        options.check_names(runner.plugins)
        self._file = file
        self._study = study
        self._every_column = every_column
        self._options = options
        self._runner = runner
        self._of_file = self._read(file.recipe, "recipe")
        self._of_scale = self._read(file.scale.recipe, f"scale {study.scale.name}")
        self._of_systems = dict[str, StudyOptions]()
        self._starting = dict[str, Sequence[parts.Column]]()
        for system in study.systems:
            self._starting[system.name] = self._starting_columns(system)
            recipe = file.systems[system.name].recipe
            self._of_systems[system.name] = self._read(recipe, f"system {system.name}")
        self._fittings = dict[tuple[StudyOptions, str], cells.Fitting]()
        self._fields_read = set[str]()

    def _read(self, recipe: Mapping[str, str], where: str) -> StudyOptions:
        if "folds" in recipe:
            raise RequestError(
                f"{self._study.path}: {where}: a task is named in folds, as glue/rte@5, not by a recipe."
            )
        if "limit-dev" in recipe and where.startswith(("system", "column")):
            raise RequestError(
                f"{self._study.path}: {where}: all systems and columns are scored on equal rows: give limit-dev in "
                "the recipe of the file or of a scale."
            )
        return read_recipe(recipe, f"{self._study.path}: {where}", self._runner.plugins)

    def settled(self) -> Study:
        """Return the study with its cells."""
        of_columns = tuple(_shared(self._cells()))
        self._options.check_read(self._fields_read, self._runner.plugins)
        stages = []
        for system in self._study.systems:
            stage = self._file.systems[system.name].first
            starting = self._starting[system.name]
            if stage is not None and any(column in starting for column in self._study.columns):
                stages.append(self._stage(system, stage))
        limit_dev = self._options.over(self._of_scale).over(self._of_file).limit_dev
        return replace(self._study, cells=of_columns, stages=tuple(stages), limit_dev=limit_dev)

    def _starting_columns(self, system: parts.System) -> Sequence[parts.Column]:
        """Return the columns whose fits start from the first task of a system, if it has one."""
        stage = self._file.systems[system.name].first
        if stage is None or not stage.columns:
            return self._every_column
        whole = replace(self._study, columns=tuple(self._every_column))
        with planning.naming(f"system {system.name}: first: columns"):
            return columns_named(whole, stage.columns)

    def _cells(self) -> Iterator[cells.Cell]:
        """Yield what each system needs for each column of a task."""
        for column in self._study.columns:
            if not column.task:
                continue
            of_column = self._read(self._file.columns[column.name], f"column {column.name}")
            with planning.naming(f"{self._study.name}, column {column.name}", planning.ADVICE):
                task = _task(column, self._runner)
            for system in self._study.systems:
                with planning.naming(f"{self._study.name}, column {column.name}", planning.ADVICE):
                    yield self._cell(system, column, task, of_column)

    def _cell(self, system: parts.System, column: parts.Column, task: Task, of_column: StudyOptions) -> cells.Cell:
        method = column.method or system.method
        fields = StudyOptions.read_by(task, method, self._runner)
        self._fields_read |= fields
        of_parts = of_column.over(self._of_systems[system.name]).over(self._of_file)
        merged = self._options.over(self._of_scale).over(of_parts).without_unread(fields, self._runner.plugins)
        keep = merged.keep
        if keep == "selected" and system.ensemble and self._study.board:
            keep = "all"  # all restarts answer the board
        term = column.term(task)
        is_dev = term.split in task.named("dev")
        return cells.Cell(
            system.name,
            task,
            selection=_selection(column, self._every_column, task, merged.selection.rule),
            tests=() if is_dev else (term.split,),
            backbone=system.backbone,
            method=method,
            fitting=self._fitting(replace(merged, keep=keep, select=None, limit_dev=None), task, method),
            columns=(column.name,),
            skips_first=column not in self._starting[system.name],
        )

    def _fitting(self, options: StudyOptions, task: Task, method: str | None) -> cells.Fitting:
        """Return how the fits of a task are made with these options; equal options give the same value."""
        if options.limits:
            raise RequestError(
                "In a study file, limit-train has one value for a system: a learning curve has a system for each "
                f"number of rows, with series and at, on the axis '{parts.TRAINING_ROWS}' (docs/studies.md)."
            )
        options = replace(options, method=None if method is None else (method,))
        key = (options, task.name)
        if key not in self._fittings:
            (cell,) = options.study(["any"], [task], self._runner).cells
            self._fittings[key] = cell.fitting
        return self._fittings[key]

    def _stage(self, system: parts.System, stage: StageTable) -> cells.Cell:
        """Return the cell of the task on which a system is fine-tuned first, which has one restart."""
        where = f"system {system.name}: first"
        of_stage = self._read(stage.recipe, where)
        with planning.naming(f"{self._study.path}: {where}"):
            task = self._runner.plugins.tasks.find(stage.task)
            merged = self._options.over(self._of_scale).over(of_stage)
            merged = merged.as_stage().without_unread(
                StudyOptions.read_by(task, system.method, self._runner), self._runner.plugins
            )
            fitting = self._fitting(merged, task, system.method)
            return cells.Cell(system.name, task, backbone=system.backbone, method=system.method, fitting=fitting)


def _selection(column: parts.Column, every_column: Iterable[parts.Column], task: Task, rule: str) -> cells.Selection:
    """Return what selects for a column: the selection that all columns of its task share, or the column's own."""
    metrics = set()
    splits = set()
    for other in every_column:
        if other.task in (task.name, task.name.rpartition("/")[2]):
            term = other.term(task)
            metrics.add(term.metric)
            if term.split in task.named("dev"):
                splits.add(term.split)
    shared_metric = metrics.pop() if len(metrics) == 1 else None
    shared_split = splits.pop() if len(splits) == 1 else None
    return cells.Selection(rule, column.select_by or shared_metric, column.select_on or shared_split)


def _task(column: parts.Column, runner: Runner) -> Task:
    """Find a column's task; raise a `RequestError` if the task does not have the column's metrics or splits."""
    task = runner.plugins.tasks.find(column.task)
    term = column.term(task)
    metrics = [metric.name for metric in task.metrics]
    named = [("split", term.split, task.splits), ("metric", term.metric, metrics)]
    if column.select_by:
        named.append(("metric", column.select_by, metrics))
    if column.select_on:
        named.append(("dev split", column.select_on, task.named("dev")))
    for kind, name, known in named:
        if name not in known:
            raise RequestError(f"{task.name} has no {kind} '{name}'; it has {', '.join(known) or 'none'}.")
    return task


def _shared(of_columns: Iterable[cells.Cell]) -> Iterable[cells.Cell]:
    """Join the cells of columns that show figures of the same fits with the same selection."""
    shared = dict[tuple[object, ...], cells.Cell]()
    for cell in of_columns:
        key = (cell.system, cell.task.name, cell.method, cell.selection, cell.skips_first, id(cell.fitting))
        known = shared.get(key)
        if known is not None:
            tests = tuple(dict.fromkeys((*known.tests, *cell.tests)))
            cell = replace(known, columns=(*known.columns, *cell.columns), tests=tests)
        shared[key] = cell
    return shared.values()
