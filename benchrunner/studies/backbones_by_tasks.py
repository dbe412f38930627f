"""Build the study of some backbones, with each of some methods, on some tasks, with names as a command line has them:
`NAME=BACKBONE`, or short ones that tell long paths of backbones apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchrunner.errors import RequestError, UnknownName
from benchrunner.studies.cells import Cell, Fitting, Selection
from benchrunner.studies.study import TRAINING_ROWS, Column, Study, System, named_by_method, place_text, row_name
from benchrunner.tasks.task import Task

LONG_PATH = 24
"""Characters of a path up to which it is its own name."""
CUT = "..."
"""Stands for the parts of a path that are left out of a name."""


def by_name(backbones: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Map names of systems to backbones; a backbone that is given without a name is its own name."""
    return dict(backbones) if isinstance(backbones, Mapping) else {backbone: backbone for backbone in backbones}


def compared(
    backbones: Sequence[str] | Mapping[str, str],
    tasks: Sequence[Task],
    fitting: Fitting | None = None,
    *,
    methods: Sequence[str] = (),
    selection: Selection | None = None,
    tests: Sequence[str] = (),
    limits: Sequence[int | None] = (),
) -> Study:
    """Build the study of all backbones, or of backbones by the names of their systems, with each method on all tasks.

    No method means each task's own. `tests` are the names of test splits that are answered beside dev, and scored if
    they have labels, in the tasks that have them. `limits` are numbers of training rows, None for all rows: the study
    is then a learning curve, with a system for each number.
    """
    fitting = fitting or Fitting()
    selection = selection or Selection()
    named = by_name(backbones)
    _check(list(named.values()) if isinstance(backbones, Mapping) else backbones, tasks, methods, selection, tests)
    systems = list(_systems(named, methods, limits, fitting))
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
    backbones: Mapping[str, str], methods: Sequence[str], limits: Sequence[int | None], fitting: Fitting
) -> Iterator[tuple[System, Fitting]]:
    """Yield a system for every backbone, method and number of training rows, with how its fits are made."""
    for own_name, backbone in backbones.items():
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
    if len(set(backbones)) != len(backbones) or len(set(names)) != len(names):
        raise RequestError(
            f"A study may name each backbone and each task only once, not {', '.join((*backbones, *names))}."
        )
    if len(set(methods)) != len(methods):
        raise RequestError(f"A study may name each method only once, not {', '.join(methods)}.")
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


def named_backbones(words: Sequence[str]) -> dict[str, str]:
    """Map the name of each system to its backbone; a word is `NAME=BACKBONE`, or a backbone alone.

    A word with `=` that is a file or folder is a backbone, and so is one with a slash or colon before the `=`.
    """
    paths = short_paths(word for word in dict.fromkeys(words) if len(word) > LONG_PATH and Path(word).exists())
    given = dict[str, str]()
    for word in words:
        name, backbone = _divided(word)
        name = paths.get(name, name)
        if given.setdefault(name, backbone) != backbone:
            raise RequestError(f"Two systems are named {name}: {given[name]} and {backbone}. Give each its own name.")
    return given


def _divided(word: str) -> tuple[str, str]:
    """Divide a word into a name and a backbone."""
    name, equals, backbone = word.partition("=")
    if not equals or re.search(r"[/:\\]", name) or Path(word).exists():
        return word, word
    if not backbone or not name.isprintable() or not re.fullmatch(r"\w[^,]*", name):
        raise RequestError(
            f"'{word}' is not NAME=BACKBONE: write a name that begins with a letter or digit and has no comma, then =, "
            "then the backbone, such as small=models/a."
        )
    return name, backbone


def short_paths(paths: Iterable[str]) -> Mapping[str, str]:
    """Map each path to what tells it from the others: without the last parts that all share, and the first ones.

    `{"runs/a/last": ".../a/...", "runs/b/last": ".../b/..."}`; of a single path the last part stays.
    """
    parts = {path: Path(path).parts for path in paths}
    shared = 0
    for of_all in zip(*(own[:0:-1] for own in parts.values()), strict=False):  # last parts first, without the first
        if len(parts) == 1 or len(set(of_all)) > 1:
            break
        shared += 1
    short = {}
    for path, own in parts.items():
        kept = own[: len(own) - shared]
        others = [parts[other][: len(parts[other]) - shared] for other in parts if other != path]
        count = 1
        while count < len(kept) and any(other[-count:] == kept[-count:] for other in others):
            count += 1
        name = "/".join([CUT, *kept[-count:], *[CUT] * (shared > 0)])
        is_only = list(parts.values()).count(own) == 1  # nothing tells two spellings of one folder apart
        short[path] = name if is_only and len(name) < len(path) else path
    return short
