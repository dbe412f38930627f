"""Checks of a leaderboard against the tasks that plugins offer: what it names must be there."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from benchrunner import PluginError, PublishedColumn, Task, did_you_mean
from benchrunner_submit.board_file import BoardFile


def check_file(file: BoardFile, task: Task) -> None:
    """Raise a `PluginError` if the task of a file lacks its split, or has other labels than the file."""
    _check_known(f"{file.name}.split", f"split of {task.name}", file.split, task.splits)
    own = set(map(str, file.kind.labels_by_text.values()))
    labels = set(map(str, getattr(task.problem, "labels", ())))
    if own and labels and not file.extra_figure:
        for label in sorted(own):
            _check_known(f"{file.name}.labels", f"label of {task.name}", label, labels)
        for label in sorted(labels - own):
            raise PluginError(f"{file.name}.labels: give a text for the label '{label}' of {task.name}.")


def check_offered(place: str, task: str, offered: Collection[str]) -> None:
    """Raise a `PluginError` if no plugin offers a task, and one offers another task of its suite."""
    suite, _, _ = task.partition("/")
    if task not in offered and suite in {name.partition("/")[0] for name in offered}:
        _check_known(f"{place}.task", "task", task, offered)


def check_column(place: str, column: PublishedColumn, tasks: Mapping[str, Task], offered: Collection[str]) -> None:
    """Raise a `PluginError` if the task of a column lacks its metric or a split, or the suite its average."""
    if column.suite:
        for task in tasks.values():
            if task.suite is not None and task.suite.name == column.suite:
                averages = [average.name for average in task.suite.averages]
                _check_known(f"{place}.average", f"average of {column.suite}", column.metric, averages)
    elif column.task in tasks:
        _check_measured(place, column, tasks[column.task])
    else:
        check_offered(place, column.task, offered)


def _check_measured(place: str, column: PublishedColumn, task: Task) -> None:
    """Raise a `PluginError` if a task lacks the metric of a column or one of its splits."""
    dev = list(task.named("dev"))
    metrics = [metric.name for metric in task.metrics]
    _check_known(f"{place}.metric", f"metric of {task.name}", column.metric, metrics)
    if column.split:
        _check_known(f"{place}.split", f"{column.kind} split of {task.name}", column.split, task.named(column.kind))
    if column.beside:
        shown = [*dev, *task.named("test")]
        _check_known(f"{place}.beside", f"dev or test split of {task.name}", column.beside, shown)
    elif len(dev) > 1 and not (column.kind == "dev" and column.split):
        raise PluginError(f"{place}.beside: is missing; {task.name} has the dev splits {', '.join(dev)}.")


def _check_known(place: str, kind: str, name: str, known: Collection[str]) -> None:
    """Raise a `PluginError` that names the place, with its key, if there is no such name."""
    if name not in known:
        hint = did_you_mean(name, known, f" Known: {', '.join(sorted(known)) or 'none'}.")
        raise PluginError(f"{place}: there is no {kind} '{name}'.{hint}")
