"""Backbones x tasks x grid x restarts: the fits, what dev says about them, and what is reported."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchrunner.errors import FitError, PluginError, RequestError
from benchrunner.executor import Executor
from benchrunner.fits import Fit
from benchrunner.metrics import Score
from benchrunner.recipes import Grid, Recipe
from benchrunner.records import Record
from benchrunner.runs.executors import Local
from benchrunner.runs.runner import MAJORITY, Runner
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Task


@dataclass(frozen=True)
class Study:
    """What is compared. Nothing runs before `run`."""

    backbones: tuple[str, ...]
    tasks: tuple[Task, ...]
    grid: Grid = field(default_factory=Grid)
    seeds: tuple[int, ...] = (0,)
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Recipe fields set for every task, such as epochs or precision."""
    method: str | None = None
    """Instead of each task's own."""
    keep: str = "selected"
    """Whose weights stay after selection: `selected`, `all` or `none`."""

    def __post_init__(self) -> None:
        names = [task.name for task in self.tasks]
        if not self.backbones or not self.tasks:
            raise RequestError("A study needs at least one backbone and one task.")
        if len(set(self.backbones)) != len(self.backbones) or len(set(names)) != len(names):
            raise RequestError(
                f"A study has each backbone and each task once, not {', '.join((*self.backbones, *names))}."
            )
        for task in self.tasks:
            if not task.named("dev"):
                raise RequestError(f"{task.name} has no split of the role 'dev' to select on.")
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise RequestError(f"Seeds must be one or more different numbers, not {list(self.seeds)}.")
        if self.keep not in ("selected", "all", "none"):
            raise RequestError(f"keep is selected, all or none, not '{self.keep}'.")


@dataclass(frozen=True)
class Candidate:
    """One grid point with its restarts."""

    recipe: Recipe
    fits: tuple[Fit, ...]


@dataclass(frozen=True)
class Cell:
    """One backbone on one task."""

    backbone: str
    task: Task
    candidates: tuple[Candidate, ...]

    @property
    def fits(self) -> Iterator[Fit]:
        for candidate in self.candidates:
            yield from candidate.fits


@dataclass(frozen=True)
class Spread:
    """One metric on one split at the chosen grid point."""

    best: Score
    """Of the selected fit: an optimist's figure, since dev chose it."""
    mean: Score
    """Over the restarts: what to expect of another one."""
    deviation: float | None
    """Between restarts (n - 1); None for fewer than two."""
    values: tuple[float, ...]


@dataclass(frozen=True)
class CellResult:
    """What came out of one cell."""

    cell: Cell
    selected: Fit | None
    """The fit with the best headline on the selection splits at the chosen grid point; None where none finished."""
    chosen: Recipe | None
    """The grid point with the best mean headline on the selection splits."""
    spreads: Mapping[Term, Spread]
    flagged: Mapping[str, int]
    """Flag -> fits of the chosen grid point that carry it; they are in the mean all the same."""
    lost: Mapping[str, str]
    """Fit id -> why it has no scores (diverged or failed), over all grid points."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """A finished study."""

    study: Study
    cells: tuple[CellResult, ...]
    baseline: Mapping[Term, Score]
    """What the majority scores on every dev split."""

    def of(self, backbone: str, task: str) -> CellResult:
        return next(one for one in self.cells if (one.cell.backbone, one.cell.task.name) == (backbone, task))

    def averages(self, backbone: str) -> dict[str, tuple[float | None, float | None]]:
        """Name -> (over the best on dev, over the means), each None where a term is missing."""
        best, mean = dict[Term, float](), dict[Term, float]()
        for result in self.cells:
            if result.cell.backbone == backbone:
                for term, spread in result.spreads.items():
                    if spread.best.value is not None:
                        best[term] = spread.best.value
                    if spread.mean.value is not None:
                        mean[term] = spread.mean.value
        suites = {id(task.suite): task.suite for task in self.study.tasks if task.suite is not None}
        return {one.name: (one.of(best), one.of(mean)) for suite in suites.values() for one in suite.averages}


def plan_study(study: Study, runner: Runner) -> tuple[Cell, ...]:
    """The cells, every grid point of every one resolved."""
    cells = []
    for task in study.tasks:
        for split in (task.train, *task.named("dev")):
            runner.rows(task, split)  # what is wrong with them is better said before hours of fitting than after
        method = study.method or task.method
        how = runner.plugins.method(method)
        learns, base = how.needs_backbone, task.recipe.changed(**how.recipe_defaults).changed(**study.changes)
        points = list(study.grid.points(base)) if learns else [base]
        for backbone in study.backbones:
            candidates = []
            for recipe in points:
                seeds = study.seeds if learns else study.seeds[:1]
                fits = (runner.plan(task, backbone, method=method, recipe=recipe, seed=seed) for seed in seeds)
                candidates.append(Candidate(recipe, tuple(fits)))
            cells.append(Cell(backbone, task, tuple(candidates)))
    return tuple(cells)


def run_study(
    study: Study, runner: Runner, *, executor: Executor | None = None, cells: Sequence[Cell] | None = None
) -> Result:
    """Run what is not finished, predict dev, select."""
    cells = plan_study(study, runner) if cells is None else cells
    records = run_fits([fit for cell in cells for fit in cell.fits], runner, executor or Local())
    results = tuple(_result(cell, records, runner) for cell in cells)
    _prune(study, results, runner)
    return Result(study, results, _baseline(study, cells, runner))


def run_fits(fits: Iterable[Fit], runner: Runner, executor: Executor) -> dict[str, Record]:
    """Every different fit once, its dev splits predicted while its weights are there: fit id -> record."""
    wanted, records = {fit.id: fit for fit in fits}, dict[str, Record]()
    for fit, record in executor.run(list(wanted.values()), runner):
        records[fit.id] = record if record.status != "done" else _predicted(fit, record, runner)
    if lost := len(wanted.keys() - records.keys()):
        raise PluginError(f"The executor '{executor.name}' gave no record of {lost} of {len(wanted)} fits.")
    return records


def _predicted(fit: Fit, record: Record, runner: Runner) -> Record:
    """The record of a fit that answers dev; one that cannot has failed, and the study goes on."""
    try:
        for split in runner.plugins.task(fit.task).named("dev"):
            runner.predict(fit, split)
    except (FitError, RequestError) as error:  # its recipe may be too short for a question of dev
        return replace(record, status="failed", reason=str(error))
    return record


def _result(cell: Cell, records: Mapping[str, Record], runner: Runner) -> CellResult:
    headline = cell.task.metrics[0].name
    splits = cell.task.named("dev")
    lost = {
        fit.id: f"{records[fit.id].status}: {records[fit.id].reason}"
        for fit in cell.fits
        if records[fit.id].status != "done"
    }
    notes = dict.fromkeys(note for fit in cell.fits for note in records[fit.id].notes)
    if len(splits) > 1:
        notes[selection_note(cell.task)] = None

    def value(fit: Fit) -> float:
        scores = [runner.predict(fit, split).record.scores[headline].value for split in cell.task.selection_splits]
        figures = [score for score in scores if score is not None]
        return statistics.fmean(figures) if len(figures) == len(scores) else float("-inf")

    finished = [(one, [fit for fit in one.fits if fit.id not in lost]) for one in cell.candidates]
    finished = [(one, fits) for one, fits in finished if fits]
    if not finished:
        return CellResult(cell, None, None, {}, {}, lost, tuple(notes))
    chosen, fits = max(finished, key=lambda pair: statistics.fmean(value(fit) for fit in pair[1]))
    selected = max(fits, key=value)
    predictions = {(fit.id, split): runner.predict(fit, split).record for fit in fits for split in splits}
    spreads = {}
    for split in splits:
        for metric in cell.task.metrics:
            scores = [predictions[fit.id, split].scores[metric.name] for fit in fits]
            best = predictions[selected.id, split].scores[metric.name]
            spreads[Term(cell.task.name, split, metric.name)] = _spread(best, scores)
    for split in splits:
        notes |= dict.fromkeys(predictions[selected.id, split].notes)
    flagged: dict[str, int] = {}
    for fit in fits:
        for flag in dict.fromkeys(flag for split in splits for flag in predictions[fit.id, split].flags):
            flagged[flag] = flagged.get(flag, 0) + 1
    return CellResult(cell, selected, chosen.recipe, spreads, flagged, lost, tuple(notes))


def selection_note(task: Task) -> str:
    """Say which dev splits selected the grid point and the restart."""
    splits = task.selection_splits
    return f"selected on {splits[0]}" if len(splits) == 1 else f"selected on the mean over {', '.join(splits)}"


def _spread(best: Score, scores: Sequence[Score]) -> Spread:
    """The mean is absent where any restart has no figure: leaving one out would flatter the rest."""
    values = tuple(one.value for one in scores if one.value is not None)
    if len(values) < len(scores):
        reason = next(one.reason for one in scores if one.value is None)
        return Spread(
            best, Score(None, f"{len(scores) - len(values)} of {len(scores)} restarts: {reason}"), None, values
        )
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Spread(best, Score(statistics.fmean(values)), deviation, values)


def _prune(study: Study, results: Iterable[CellResult], runner: Runner) -> None:
    if study.keep == "all":
        return
    kept = {one.selected.id for one in results if one.selected is not None and study.keep == "selected"}
    for result in results:
        for fit in result.cell.fits:
            if fit.id not in kept:
                runner.forget_weights(fit)


def _baseline(study: Study, cells: Sequence[Cell], runner: Runner) -> dict[Term, Score]:
    baseline = {}
    for task in study.tasks:
        cell = next(one for one in cells if one.task.name == task.name)
        fit = runner.plan(task, "", method=MAJORITY, recipe=cell.candidates[0].recipe)
        for split in task.named("dev"):
            for name, score in runner.predict(fit, split).record.scores.items():
                baseline[Term(task.name, split, name)] = score
    return baseline


def selected_fit(result: CellResult) -> Fit:
    """The fit to submit, or the reason why there is none."""
    if result.selected is None:
        reasons = "; ".join(dict.fromkeys(result.lost.values()))
        raise FitError(f"No fit of {result.cell.backbone} on {result.cell.task.name} finished: {reasons}")
    return result.selected


def fit_work(fit: Fit, runner: Runner) -> float:
    """How much of a study a fit is: rows read while learning. What never learns is next to nothing."""
    task = runner.plugins.task(fit.task)
    if not runner.plugins.method(fit.method).needs_backbone:
        return 0.001
    rows = len(runner.rows(task, task.train))
    return min(rows, fit.recipe.limit_train or rows) * fit.recipe.epochs
