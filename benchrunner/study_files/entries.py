"""Figures of study files: those of a task's metric, of an ensemble, of a log, and means of other figures."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from benchrunner.errors import FitError, RequestError, first_line
from benchrunner.runs.answering import Ensemble, answer_together
from benchrunner.runs.runner import Runner
from benchrunner.studies.comparison.layout import ABSENT
from benchrunner.studies.study import CellResult
from benchrunner.study_files.study_file import Column, System
from benchrunner.tasks.suites import Term
from benchrunner.training import step_log


@final
@dataclass(frozen=True)
class Entry:
    """The figure of one system in one column. Figures are on the scale on which they are printed."""

    mean: float | None = None
    """Mean over the restarts of the grid point that dev chose; None if there is no figure."""
    deviation: float | None = None
    restarts: tuple[float, ...] = ()
    best: float | None = None
    """Figure of the restart that dev selected."""
    members: tuple[str, ...] = ()
    """Ids of the fits that answered together; empty if each answered alone."""
    decimals: int = 1
    reason: str = ""
    """Why there is no figure."""
    cell: CellResult | None = None
    """The result that a task's figure was taken from."""

    @property
    def answering(self) -> tuple[str, ...]:
        """Ids of the fits whose answers stand for the system: those of an ensemble, or the selected one."""
        selected = self.cell.selected if self.cell is not None else None
        return self.members or ((selected.id,) if selected is not None else ())

    def as_text(self) -> str:
        """Write the figure with its deviation and the number of restarts."""
        if self.mean is None:
            return ABSENT
        text = f"{self.mean:.{self.decimals}f}"
        if self.members:
            return f"{text} ({len(self.members)} together)"
        return text if self.deviation is None else f"{text} ± {self.deviation:.{self.decimals}f} ({len(self.restarts)})"


def entry_of_metric(cell: CellResult, term: Term) -> Entry:
    """Make the entry of a task's metric."""
    spread = cell.spreads.get(term)
    if spread is None:
        return Entry(reason="no fit finished", cell=cell)
    scale = _scale(cell, term)

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * scale

    return Entry(
        mean=scaled(spread.mean.value),
        deviation=scaled(spread.deviation),
        restarts=tuple(value * scale for value in spread.values),
        best=scaled(spread.best.value),
        reason=spread.mean.reason or "",
        cell=cell,
    )


def entry_of_ensemble(cell: CellResult, term: Term, runner: Runner) -> Entry:
    """Make the entry of a task's metric if the finished restarts of the chosen grid point answer together."""
    restarts = next((point.fits for point in cell.cell.candidates if point.recipe == cell.chosen), ())
    members = tuple(fit for fit in restarts if fit.id not in cell.lost)
    if not members:
        return Entry(reason="no fit finished", cell=cell)
    task = cell.cell.task
    try:
        score = answer_together(Ensemble(members), task, runner.planner.rows(task, term.split), runner).scores[
            term.metric
        ]
    except (FitError, RequestError) as error:
        return Entry(reason=first_line(error), cell=cell)
    if score.value is None:
        return Entry(reason=score.reason or "", cell=cell)
    figure = score.value * _scale(cell, term)
    return Entry(mean=figure, restarts=(figure,), best=figure, members=tuple(fit.id for fit in members), cell=cell)


def _scale(cell: CellResult, term: Term) -> float:
    return next(metric.scale for metric in cell.cell.task.metrics if metric.name == term.metric)


def entry_of_log(system: System, key: str) -> Entry:
    """Make the entry of a figure from the log of building a system: the last line with the key counts."""
    if system.figures is None:
        return Entry(reason="the study names no log of this system")
    if not system.figures.is_file():
        return Entry(reason=f"there is no file {system.figures}")
    figures = [line[key] for line in step_log.read(system.figures) if type(line.get(key)) in (int, float)]
    if not figures:
        return Entry(reason=f"{system.figures} has no '{key}'")
    last = float(figures[-1])
    return Entry(mean=last, restarts=(last,), best=last, decimals=2)


def mean_entry(system: System, column: Column, entries: Mapping[tuple[str, str], Entry]) -> Entry:
    """Make the entry of a column that shows the mean of other columns; it has no figure if any of these has none."""
    parts = {name: entries.get((system.name, name)) for name in column.mean}
    figures = [entry.mean for entry in parts.values() if entry is not None and entry.mean is not None]
    if len(figures) < len(parts):
        absent = [name for name, entry in parts.items() if entry is None or entry.mean is None]
        return Entry(reason=f"there is no figure in {', '.join(absent)}")
    mean = statistics.fmean(figures)
    return Entry(mean=mean, restarts=(mean,), best=mean)
