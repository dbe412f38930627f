"""Plan a study file: which fits each system needs for each column, grouped so that columns share their fits."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import final

from benchrunner.errors import DataError, RequestError
from benchrunner.runs.references import with_family
from benchrunner.runs.runner import Runner
from benchrunner.studies.study import Cell, Selection, Study
from benchrunner.studies.study_options import StudyOptions, options_read
from benchrunner.studies.study_run import plan_study
from benchrunner.study_files.reading import read_study_file
from benchrunner.study_files.study_file import Column, StudyFile, System
from benchrunner.study_files.system_commands import check_not_running
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task


@final
@dataclass(frozen=True)
class Need:
    """The task, metric and options that one system needs for one column."""

    system: System
    backbone: str
    """Name of the backbone that is fitted: the system's own, or a fit of its first stage."""
    column: Column
    task: Task
    term: Term
    options: StudyOptions
    """Options that make the fits. How dev selects among the fits is in `selection`, so that columns that select by
    different metrics share their fits."""
    selection: Selection


def chosen_study(
    name: str,
    runner: Runner,
    parameters: Mapping[str, str],
    *,
    scale: str,
    systems: Iterable[str] | None,
    columns: Iterable[str] | None,
    family: str | None,
) -> StudyFile:
    """Read the study of a name or path with the chosen systems and columns.

    `family` is the plugin that loads the backbones of the systems that name no plugin.
    """
    full_name, path = runner.plugins.study(name)
    check_not_running(path)
    study = read_study_file(path, parameters, name=full_name, scale=scale, systems=systems)
    loaded = tuple(_with_family(system, family, study, runner) for system in study.systems)
    return replace(study, columns=study.columns_named(columns), systems=loaded)


def _with_family(system: System, family: str | None, study: StudyFile, runner: Runner) -> System:
    """Put the prefix of its plugin before the name of a system's backbone."""
    with naming(f"{study.path}: system {system.name}"):
        backbone = with_family(system.backbone, system.family or family, runner.plugins)
    return replace(system, backbone=backbone)


def needs_of(
    study: StudyFile, options: StudyOptions, runner: Runner, *, problems: dict[str, str] | None = None
) -> list[Need]:
    """List what every system needs for every column of a task, and check that its data exists.

    A column without data is an error. If `problems` is given, the column is left out, and `problems` maps it to the
    reason.
    """
    if options.method is not None:
        raise RequestError(f"The study {study.name} says which methods are used: leave the method out.")
    if options.select_by is not None:
        raise RequestError(f"In the study {study.name}, the metric of each column selects: leave select-by out.")
    options.check_names(runner.plugins)
    needs, read = list[Need](), set[str]()
    of_file = StudyOptions.from_texts(study.recipe, f"{study.path}: recipe", runner.plugins)
    of_scale = StudyOptions.from_texts(study.scale.recipe, f"{study.path}: scale {study.scale.name}", runner.plugins)
    of_systems = {
        system.name: StudyOptions.from_texts(system.recipe, f"{study.path}: system {system.name}", runner.plugins)
        for system in study.systems
    }
    for column in study.columns:
        if not column.task:
            continue
        of_column = StudyOptions.from_texts(column.recipe, f"{study.path}: column {column.name}", runner.plugins)
        with naming(f"{study.name}, column {column.name}", "To leave this column out, name the others: --columns A,B."):
            try:
                task, term = _metric(column, runner)
            except DataError as problem:
                if problems is None:
                    raise
                problems[column.name] = str(problem)
                continue
            for system in study.systems:
                method = column.method or system.method
                fields = options_read(task, method, runner)
                of_parts = of_column.over(of_systems[system.name]).over(of_file)
                merged = options.over(of_scale).over(of_parts).without_unread(fields)
                read |= fields
                selecting = term.split if term.split in task.named("dev") else None
                selection = Selection(merged.selection.rule, term.metric, selecting)
                keep = "all" if study.board and system.ensemble and merged.keep == "selected" else merged.keep
                fit_options = replace(merged, method=None if method is None else (method,), select=None, keep=keep)
                needs.append(Need(system, system.backbone, column, task, term, fit_options, selection))
    if not problems:
        options.check_read(read)
    return needs


def _metric(column: Column, runner: Runner) -> tuple[Task, Term]:
    """Find a column's task and metric; raise a `RequestError` if these or their data do not exist."""
    task = runner.plugins.tasks.find(column.task)
    dev, metrics = task.named("dev"), [metric.name for metric in task.metrics]
    term, splits = column.term(task), [*dev, *task.named("test")]
    for kind, name, known in (("dev or test split", term.split, splits), ("metric", term.metric, metrics)):
        if name not in known:
            raise RequestError(f"{task.name} has no {kind} '{name}'; it has {', '.join(known) or 'none'}.")
    for needed in dict.fromkeys((task.train, *dev, term.split)):
        rows = runner.planner.rows(task, needed)
        if needed == term.split and task.problem.gold(rows.table) is None:
            raise RequestError(
                f"{task.name} has no labels in its split {term.split} ({rows.origin}), so only its leaderboard can "
                f"score it. Give a split of {', '.join(dev)}."
            )
    return task, term


def stage_study(system: System, study: StudyFile, options: StudyOptions, runner: Runner) -> Study | None:
    """Plan the stage in which a system is fine-tuned first, and check that its data exists; None if there is none."""
    if system.first is None:
        return None
    where = f"{study.path}: system {system.name}: first"
    of_scale = StudyOptions.from_texts(study.scale.recipe, f"{study.path}: scale {study.scale.name}", runner.plugins)
    of_stage = StudyOptions.from_texts(system.first.recipe, where, runner.plugins)
    with naming(where):
        task = runner.plugins.tasks.find(system.first.task)
        for split in (task.train, *task.named("dev")):
            runner.planner.rows(task, split)
        merged = options.over(of_scale).over(of_stage)
        method = None if system.method is None else (system.method,)
        fit_options = replace(merged, method=method, seeds=None, restarts=None, select=None, keep="selected")
        return fit_options.without_unread(options_read(task, system.method, runner)).study(
            [system.backbone], [task], runner
        )


def grouped(needs: Iterable[Need], runner: Runner) -> Iterator[tuple[StudyOptions, Study]]:
    """Group the needs into studies so that each different fit is in one study.

    A study holds fits with the same options, of backbones with the same tasks.
    """
    tasks_of: dict[StudyOptions, dict[str, dict[str, Task]]] = {}
    for need in needs:
        tasks_of.setdefault(need.options, {}).setdefault(need.backbone, {})[need.task.name] = need.task
    for options, tasks_by_backbone in tasks_of.items():
        backbones_of: dict[tuple[str, ...], list[str]] = {}
        for backbone, tasks in tasks_by_backbone.items():
            backbones_of.setdefault(tuple(tasks), []).append(backbone)
        for names, backbones in backbones_of.items():
            yield options, options.study(backbones, [runner.plugins.tasks.find(name) for name in names], runner)


def cells_of(options: StudyOptions, study: Study, needs: Iterable[Need], runner: Runner) -> list[Cell]:
    """Plan the fits of a study, with a cell for each selection that a column asks for; the cells share the fits."""
    tests: dict[tuple[str, str], dict[Selection, dict[str, None]]] = {}
    for need in needs:
        if need.options == options:
            scored = tests.setdefault((need.backbone, need.task.name), {}).setdefault(need.selection, {})
            if need.term.split in need.task.named("test"):
                scored[need.term.split] = None
    return [
        replace(cell, selection=selection, tests=tuple(scored))
        for cell in plan_study(study, runner)
        for selection, scored in tests[cell.backbone, cell.task.name].items()
    ]


@contextlib.contextmanager
def naming(where: str, advice: str = "") -> Iterator[None]:
    """Begin errors from the `with` block with `where`, the part of the study file, and end them with the advice."""
    try:
        yield
    except RequestError as error:
        kind = DataError if isinstance(error, DataError) else RequestError
        raise kind(f"{where}: {error}\n{advice}".rstrip()) from None  # the error may end in a list
