"""Build the study of some backbones, with each of some methods, on some tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from benchrunner.errors import RequestError, UnknownName
from benchrunner.studies.cells import Cell, Fitting, Selection
from benchrunner.studies.study import TRAINING_ROWS, Column, Study, System, named_by_method, place_text, row_name
from benchrunner.studies.system_names import by_name
from benchrunner.tasks.task import Task


def compared(
    backbones: Sequence[str] | Mapping[str, str],
    tasks: Sequence[Task],
    fitting: Fitting | None = None,
    *,
    methods: Sequence[str] = (),
    selection: Selection | None = None,
    tests: Sequence[str] = (),
    limits: Sequence[int | None] = (),
    own_methods: Mapping[str, str] = MappingProxyType({}),
) -> Study:
    """Build the study of all backbones, or of backbones by the names of their systems, with each method on all tasks.

    No method means each task's own. `tests` are the names of test splits that are answered beside dev, and scored if
    they have labels, in the tasks that have them. `limits` are numbers of training rows, None for all rows: the study
    is then a learning curve, with a system for each number. `own_methods` map names of systems to the one method that
    their backbone takes.
    """
    fitting = fitting or Fitting()
    selection = selection or Selection()
    named = by_name(backbones)
    _check(list(named.values()) if isinstance(backbones, Mapping) else backbones, tasks, methods, selection, tests)
    systems = list(_systems(named, methods, limits, fitting, own_methods))
    columns = list[Column]()
    cells = list[Cell]()
    titles = [task.title for task in tasks]
    for task in tasks:
        scored = tuple(split for split in task.named("test") if split in tests)
        is_own = task.title in task.name and titles.count(task.title) == 1 and not task.folds
        of_task = list(_columns(task, scored, task.title if is_own else ""))
        columns += of_task
        for system, own_fitting in systems:
            cell = Cell(
                system.name,
                task,
                selection=selection,
                tests=scored,
                backbone=system.backbone,
                method=system.method,
                fitting=own_fitting,
                columns=tuple(column.name for column in of_task),
            )
            cells.append(cell)
    axis = TRAINING_ROWS if limits else ""
    return Study(tuple(system for system, _ in systems), tuple(columns), tuple(cells), axis=axis)


def _systems(
    backbones: Mapping[str, str],
    methods: Sequence[str],
    limits: Sequence[int | None],
    fitting: Fitting,
    own_methods: Mapping[str, str],
) -> Iterator[tuple[System, Fitting]]:
    """Yield a system for every backbone, method and number of training rows, with how its fits are made."""
    for own_name, backbone in backbones.items():
        if own_name in own_methods:
            yield System(own_name, backbone, method=own_methods[own_name]), fitting
            continue
        for method in methods or (None,):
            name = own_name if method is None or len(methods) < 2 else named_by_method(own_name, method)
            if not limits:
                yield System(name, backbone, method=method), fitting
            for rows in dict.fromkeys(limits):
                point = named_by_method(name, f"{place_text(rows)} rows")
                changes = {**fitting.changes, "limit_train": rows}
                yield System(point, backbone, method=method, series=name, at=rows), replace(fitting, changes=changes)


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
    for kind, given in (("backbone", backbones), ("task", names), ("method", methods)):
        if len(set(given)) != len(given):
            raise RequestError(f"A study may name each {kind} only once, not {', '.join(given)}.")
    known = dict[str, None]()
    for task in tasks:
        if not task.named("dev"):
            raise RequestError(
                f"{task.name} has no split of the role 'dev' to select on: cross-validate with --folds 5."
            )
        selection.metric_of(task)  # raises an error for a metric that the task does not have
        known |= dict.fromkeys(task.named("test"))
    for name in tests:
        if not known:
            raise RequestError(f"--split {name}: none of these tasks has a test split.")
        if name not in known:
            raise UnknownName("test split", name, known, where="in these tasks")


def _columns(task: Task, tests: Sequence[str], title: str) -> Iterator[Column]:
    """Yield a column of every metric on every scored split. Differences are tested by the headline on dev.

    Tables name the task by `title`, unless it is empty.
    """
    dev = task.named("dev")
    for split in (*dev, *tests):
        name = row_name(task.name, split, len(dev) + len(tests))
        for metric in task.metrics:
            if not metric.detail:
                yield Column(
                    f"{name} {metric.name}",
                    task.name,
                    split,
                    metric.name,
                    label=title or task.name,
                    is_tested=metric is task.metrics[0] and split in dev,
                )
