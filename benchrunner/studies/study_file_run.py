"""Run a study file: build its systems, fit them, and take the figures of its table."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from benchrunner.errors import RequestError
from benchrunner.executor import Executor
from benchrunner.runs.runner import Runner
from benchrunner.studies.study import Cell, CellResult, Result, Selection, Study
from benchrunner.studies.study_file import FULL, Column, StudyFile, System
from benchrunner.studies.study_file_reading import read_study_file
from benchrunner.studies.study_options import StudyOptions, options_read
from benchrunner.studies.study_run import plan_study, run_study
from benchrunner.studies.study_table import Entry, StudyFileResult, entry_of_log, entry_of_metric, mean_entry
from benchrunner.studies.system_commands import PROGRAM, check_command, run_command
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task


@final
@dataclass(frozen=True)
class Need:
    """The task, metric and options that one system needs for one column."""

    system: System
    column: Column
    task: Task
    term: Term
    options: StudyOptions
    """Options that make the fits. How dev selects among the fits is in `selection`, so that columns that select by
    different metrics share their fits."""
    selection: Selection


def run_study_file(
    name: str,
    runner: Runner,
    *,
    parameters: Mapping[str, str] | None = None,
    scale: str = FULL,
    columns: Sequence[str] | None = None,
    options: StudyOptions | None = None,
    executor: Executor | None = None,
    show_progress: bool = False,
    program: Sequence[str] = PROGRAM,
) -> StudyFileResult:
    """Run a study file and return its table.

    `name` is the name of a plugin's study or the path of a .toml file. `parameters` are values of the file's
    parameters, `scale` the name of one of its scales, `columns` the names of some of its columns; None means all that
    are not extra. `options` override the options of the file.
    `program` runs the commands that build backbones. Everything is checked before the first command runs.
    """
    options = options or StudyOptions()
    if options.method is not None:
        raise RequestError(f"The study {name} says which methods are used: leave the method out.")
    if options.select_by is not None:
        raise RequestError(f"In the study {name}, the metric of each column selects: leave select-by out.")
    full_name, path = runner.plugins.study(name)
    study = read_study_file(path, parameters or {}, name=full_name, scale=scale)
    study = replace(study, columns=study.columns_named(columns))
    needs = _needs(study, options, runner)
    planned = list(_planned(needs, runner))
    for words, system in study.commands.items():
        with _naming(f"{study.name}, system {system}"):
            check_command(words, program=program)
    _check_backbones((need.system for need in needs if need.system.make is None), study, runner)
    for number, (words, system) in enumerate(study.commands.items(), start=1):
        if show_progress:
            print(f"{number} of {len(study.commands)}, {system}: benchrunner {shlex.join(words)}", file=sys.stderr)
        run_command(words, runner.workspace, program=program, show_output=show_progress)
    _check_backbones((need.system for need in needs), study, runner)
    results = []
    for own, part in planned:
        cells = _cells(own, part, needs, runner)
        results.append((own, run_study(part, runner, executor=executor, cells=cells, show_progress=show_progress)))
    return StudyFileResult(study, _entries(study, needs, results), tuple(result for _, result in results))


def _needs(study: StudyFile, options: StudyOptions, runner: Runner) -> list[Need]:
    """List what every system needs for every column of a task, and check that its data exists."""
    needs, read = list[Need](), set[str]()
    of_file = StudyOptions.read(study.recipe, f"{study.path}: recipe")
    of_scale = StudyOptions.read(study.scale.recipe, f"{study.path}: scale {study.scale.name}")
    of_systems = {
        system.name: StudyOptions.read(system.recipe, f"{study.path}: system {system.name}") for system in study.systems
    }
    for column in study.columns:
        if not column.task:
            continue
        with _naming(
            f"{study.name}, column {column.name}", "To leave this column out, name the others: --columns A,B."
        ):
            task, term = _metric(column, runner)
            for system in study.systems:
                method = column.method or system.method
                fields = options_read(task, method, runner)
                of_column = StudyOptions.read(column.recipe, f"{study.path}: column {column.name}")
                of_parts = of_column.over(of_systems[system.name]).over(of_file)
                merged = options.over(of_scale).over(of_parts).without_unread(fields)
                read |= fields
                selecting = term.split if term.split in task.named("dev") else None
                selection = Selection(merged.selection.rule, term.metric, selecting)
                own = replace(merged, method=method, select=None)
                needs.append(Need(system, column, task, term, own, selection))
    options.check_read(read)
    return needs


def _metric(column: Column, runner: Runner) -> tuple[Task, Term]:
    """Find a column's task and metric; raise a `RequestError` if these or their data do not exist."""
    task = runner.plugins.task(column.task)
    dev, metrics = task.named("dev"), [metric.name for metric in task.metrics]
    split, metric = column.split or next(iter(dev), ""), column.metric or metrics[0]
    splits = [*dev, *task.named("test")]
    for kind, name, known in (("dev or test split", split, splits), ("metric", metric, metrics)):
        if name not in known:
            raise RequestError(f"{task.name} has no {kind} '{name}'; it has {', '.join(known) or 'none'}.")
    for needed in dict.fromkeys((task.train, *dev, split)):
        rows = runner.rows(task, needed)
        if needed == split and task.problem.gold(rows.table) is None:
            raise RequestError(
                f"{task.name} has no labels in its split {split} ({rows.origin}), so that nobody but its leaderboard "
                f"can score it. Give a split of {', '.join(dev)}."
            )
    return task, Term(task.name, split, metric)


def _planned(needs: Iterable[Need], runner: Runner) -> Iterator[tuple[StudyOptions, Study]]:
    """Group the needs into studies so that each different fit is in one study.

    A study holds fits with the same options, of backbones with the same tasks.
    """
    tasks_of: dict[StudyOptions, dict[str, dict[str, Task]]] = {}
    for need in needs:
        tasks_of.setdefault(need.options, {}).setdefault(need.system.backbone, {})[need.task.name] = need.task
    for options, tasks_by_backbone in tasks_of.items():
        backbones_of: dict[tuple[str, ...], list[str]] = {}
        for backbone, tasks in tasks_by_backbone.items():
            backbones_of.setdefault(tuple(tasks), []).append(backbone)
        for names, backbones in backbones_of.items():
            yield options, options.study(backbones, [runner.plugins.task(name) for name in names], runner)


def _cells(options: StudyOptions, study: Study, needs: Iterable[Need], runner: Runner) -> list[Cell]:
    """Plan the fits of a study, with a cell for each selection that a column asks for; the cells share the fits."""
    tests: dict[tuple[str, str], dict[Selection, dict[str, None]]] = {}
    for need in needs:
        if need.options == options:
            scored = tests.setdefault((need.system.backbone, need.task.name), {}).setdefault(need.selection, {})
            if need.term.split in need.task.named("test"):
                scored[need.term.split] = None
    return [
        replace(cell, selection=selection, tests=tuple(scored))
        for cell in plan_study(study, runner)
        for selection, scored in tests[cell.backbone, cell.task.name].items()
    ]


def _check_backbones(systems: Iterable[System], study: StudyFile, runner: Runner) -> None:
    for system in systems:
        with _naming(f"{study.name}, system {system.name}"):
            runner.backbone(system.backbone)


@contextlib.contextmanager
def _naming(where: str, advice: str = "") -> Iterator[None]:
    """Name the part of the file in errors about it."""
    try:
        yield
    except RequestError as error:
        raise RequestError(f"{where}: {error}\n{advice}".rstrip()) from None  # the error may end in a list


def _entries(
    study: StudyFile, needs: Iterable[Need], results: Iterable[tuple[StudyOptions, Result]]
) -> dict[tuple[str, str], Entry]:
    cells: dict[tuple[StudyOptions, str, str, Selection], CellResult] = {}
    for options, result in results:
        for cell in result.cells:
            cells[options, cell.cell.backbone, cell.cell.task.name, cell.cell.selection] = cell
    entries = {
        (need.system.name, need.column.name): entry_of_metric(
            cells[need.options, need.system.backbone, need.task.name, need.selection], need.task, need.term
        )
        for need in needs
    }
    for column in study.columns:
        if column.figure:
            entries |= {(system.name, column.name): entry_of_log(system, column.figure) for system in study.systems}
    for column in study.columns:  # after the columns that they are computed from
        if column.mean:
            entries |= {(system.name, column.name): mean_entry(system, column, entries) for system in study.systems}
    return entries
