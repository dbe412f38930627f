"""Joins the verified studies of a board into one study, so that statistics compare all systems of the board."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import final

from benchrunner import ACCURACY, RequestError, Score, Task, Term, UnknownName
from benchrunner.results import CellResult, Result, Study, cells, compared, comparison, contrasts
from benchrunner_share.board.receiving import Accepted

COST = "time of all fits"
"""The quantity of cost that every shared folder claims."""
COST_NOTE = f"{COST}: all grid points and restarts together, as the senders' machines measured them"


@final
@dataclass(frozen=True)
class Entry:
    """A row of a board: one system out of one accepted folder, with its results."""

    name: str
    """Its name on the board: that in its folder, with the folder where several have the name."""
    own_name: str
    """Its name in its folder."""
    folder: Accepted
    cells: tuple[CellResult, ...]

    @property
    def backbone(self) -> str:
        """The backbone of its first cell."""
        return self.cells[0].cell.backbone

    @property
    def methods(self) -> str:
        """The methods of its cells."""
        return ", ".join(dict.fromkeys(cell.cell.method or "" for cell in self.cells))

    @property
    def tasks(self) -> dict[str, Task]:
        """Its tasks by name."""
        return {cell.cell.task.name: cell.cell.task for cell in self.cells}

    def has_scores(self, tasks: Iterable[Task], splits: Collection[str]) -> bool:
        """Whether the entry has a cell of every task, with scores on the named test splits that rank the task."""
        cells = {cell.cell.task.name: cell for cell in reversed(self.cells)}
        for task in tasks:
            if task.name not in cells:
                return False
            for split in ranked_splits(task, splits):
                figure = cells[task.name].figures.get(Term(task.name, split, task.metrics[0].name))
                if split in splits and (figure is None or figure.mean.value is None):
                    return False
        return True

    @property
    def seconds(self) -> float | None:
        """Seconds of all its fits, as its folder claims; None if a fit has none."""
        total = 0.0
        for fit in cells.different_fits(result.cell for result in self.cells):
            seconds = self.folder.study.fits[fit.id].timings.get("seconds")
            if seconds is None:
                return None
            total += seconds
        return total


def entries_of(folders: Sequence[Accepted]) -> list[Entry]:
    """List the systems of all folders, each with a name of its own."""
    systems = []
    for folder in folders:
        for name in dict.fromkeys(cell.cell.system for cell in folder.study.cells):
            systems.append((folder, name))
    count = Counter(name for _, name in systems)
    entries = []
    used = set[str]()
    for folder, name in systems:
        shown = name if count[name] == 1 else f"{name} ({folder.name})"
        while shown in used:  # a system may be called as if it stood in another folder
            shown += f" ({folder.name})"
        used.add(shown)
        cells = tuple(cell for cell in folder.study.cells if cell.cell.system == name)
        entries.append(Entry(shown, name, folder, cells))
    return entries


def tasks_of(entries: Sequence[Entry], asked: Sequence[str], installed: Sequence[str]) -> tuple[Task, ...]:
    """Return the tasks of a board: those that were asked for, or those of more than half of the folders.

    So a single folder can neither add a task to a board nor take one away, however many systems it has. The
    order is that of the installed tasks.
    """
    folders = dict[str, set[str]]()
    known = dict[str, Task]()
    for entry in entries:
        folders.setdefault(entry.folder.name, set()).update(entry.tasks)
        known |= entry.tasks
    count = Counter(name for of_folder in folders.values() for name in of_folder)
    if missing := [name for name in asked if name not in known]:
        raise RequestError(f"No verified folder has scores of {missing[0]}. Leave it out of --tasks.")
    names = asked or [name for name, number in count.items() if 2 * number > len(folders)]
    if not names:
        raise RequestError("No task is that of more than half of the folders: name the tasks with --tasks.")
    order = {name: number for number, name in enumerate(installed)}
    return tuple(known[name] for name in sorted(names, key=lambda name: order.get(name, len(order))))


def ranked_splits(task: Task, splits: Collection[str]) -> list[str]:
    """Return the splits by which systems are ranked on a task: the named test splits that it has, else dev."""
    return [split for split in task.named("test") if split in splits] or task.named("dev")


def check_splits(tasks: Sequence[Task], splits: Iterable[str]) -> None:
    """Raise a `RequestError` if no task has one of these test splits."""
    known = dict.fromkeys(split for task in tasks for split in task.named("test"))
    for split in splits:
        if split not in known:
            raise UnknownName("test split", split, known, where="in the tasks of the board")


def joined(
    entries: Sequence[Entry],
    tasks: Sequence[Task],
    *,
    splits: Collection[str] = (),
    against: str | None = None,
    ranked: bool = True,
) -> Result:
    """Return the result of a study of these systems and tasks, from cells that are verified already.

    Only the headline metric of each task is a column. `splits` names the test splits that rank instead of dev. Without
    `ranked`, nothing is tested.
    """
    tests = sorted({split for entry in entries for cell in entry.cells for split in cell.cell.tests})
    names = {entry.name: entry.name for entry in entries}  # several senders may have fitted one backbone
    possible = {name for task in tasks for name in task.named("test")}
    study = compared(names, tasks, tests=[name for name in tests if name in possible])
    backbones = {entry.name: entry.backbone for entry in entries}
    systems = tuple(replace(system, backbone=backbones[system.name]) for system in study.systems)
    by_name = {task.name: task for task in tasks}
    columns = []
    for column in study.columns:
        task = by_name[column.task]
        if column.metric == task.metrics[0].name:
            columns.append(replace(column, is_tested=ranked and column.split in ranked_splits(task, splits)))
    cells = list[CellResult]()
    for entry in entries:
        cells += _cells(entry, replace(study, columns=tuple(columns)))
    study = replace(study, systems=systems, columns=tuple(columns), cells=tuple(cell.cell for cell in cells))
    if against is not None:
        study = contrasts.compared_with(study, against)
    costs = tuple(comparison.Cost(entry.name, COST, "s", entry.seconds, note=COST_NOTE) for entry in entries)
    return Result(study, tuple(cells), dict(_baseline(entries, cells)), costs=costs)


def _cells(entry: Entry, study: Study) -> Iterator[CellResult]:
    """Yield the cells of a system, the first of each task of a study, with the names that the study gives."""
    left = {task.name for task in study.tasks}
    for cell in entry.cells:
        task = cell.cell.task.name
        if task in left:
            left.remove(task)
            columns = tuple(column.name for column in study.columns if column.task == task)
            named = replace(cell.cell, system=entry.name, columns=columns)
            # Probabilities are not among the kept answers, and without a runner nothing computes them.
            is_of_answers = cell.cell.task.metrics[0].computed_from == ACCURACY.computed_from
            yield replace(cell, cell=named, runner=cell.runner if is_of_answers else None)


def _baseline(entries: Sequence[Entry], cells: Sequence[CellResult]) -> Iterator[tuple[Term, Score]]:
    """Yield the scores of the majority answer, which the verification computed from the board's own rows."""
    tasks = {cell.cell.task.name for cell in cells}
    for entry in entries:
        for cell in entry.folder.study.content["result"]["cells"]:
            for score in cell["scores"] if cell["task"] in tasks else ():
                if score["majority"] is not None:
                    yield Term(cell["task"], score["split"], score["metric"]), Score(score["majority"])
        for opened in entry.folder.study.verification.opened:
            if opened.task in tasks and opened.majority is not None:
                yield Term(opened.task, opened.split, opened.metric), Score(opened.majority)


def by_rank(result: Result) -> Result:
    """Return a result whose systems stand in the order of their mean ranks, else of the mean of their figures."""
    ordered = sorted(result.study.systems, key=lambda system: _order(system.name, result))
    return replace(result, study=replace(result.study, systems=tuple(ordered)), given_statistics=result.statistics)


def _order(name: str, result: Result) -> tuple[bool, float, str]:
    """Give the key of a system by which systems are sorted: those with a mean rank first, the best first."""
    rank = result.statistics.mean_ranks.get(name)
    if rank is not None:
        return False, rank.mean, name
    gains = [
        figure.gain(figure.mean.value)
        for (system, _), figure in result.figures.items()
        if system == name and figure.mean.value is not None
    ]
    return True, -fmean(gains) if gains else math.inf, name
