"""Dry runs: the commands and fits of a comparison, what exists already, and what is left to do. Nothing is run."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import final

from benchrunner import CheckpointError, CommandEstimate, DataError, Recipe
from benchrunner.engine import Method, first_line
from benchrunner.results import Fit, Runner, Study, cells, planning
from benchrunner_studies.finished_costs import expected_seconds, finished_costs
from benchrunner_studies.system_commands import PROGRAM, estimates

FIRST_STAGE = "(first task)"
"""Text in place of a column's name, for fits of the task that a system is fine-tuned on first."""
UNKNOWN_POINTS = "which grid points a search tries is known as it runs: the longest are counted, and none as finished"


@final
@dataclass(frozen=True)
class PlannedCommand:
    """A command that builds the backbone of a system."""

    words: tuple[str, ...]
    system: str
    estimate: CommandEstimate
    """What the command says about itself."""


@final
@dataclass(frozen=True)
class PlannedFit:
    """One fit. Lines of the plan may share it: equal fits are equal values."""

    backbone: str
    first: tuple[str | Recipe, ...]
    """The task that the backbone is fine-tuned on first, with its grid points; empty if there is none."""
    task: str
    method: str
    recipe: Recipe
    seed: int
    rows: int
    """Training rows that the fit reads, each row once in every epoch."""
    goes_on: bool = False
    """Whether the fit goes on from the training of a shorter one, so that it reads fewer rows."""
    folds: int = 1
    """Number of trainings of which the fit consists: several where it is cross-validated."""
    is_finished: bool = False
    """Whether the fit is finished, so that it is read and not run."""
    seconds: float | None = None
    """Time that the fit will take; None if no fit like it is finished."""


@final
@dataclass(frozen=True)
class PlannedFits:
    """The fits of one backbone on one task: its grid points and restarts."""

    systems: tuple[str, ...]
    columns: tuple[str, ...]
    """Names of the columns whose figures come from these fits."""
    fits: tuple[PlannedFit, ...]
    problem: str = ""
    """Why it is not known which fits are finished, for example because the backbone is not built."""
    added: int = 0
    """Number of restarts that may be added until comparisons are clear."""
    is_searched: bool = False
    """Whether fits may be left out, because their shorter trainings were no better than others."""

    @property
    def finished(self) -> int:
        """Number of finished fits."""
        return sum(fit.is_finished for fit in self.fits)

    @property
    def to_run(self) -> int:
        """Number of fits that are not finished, as far as that is known."""
        return len(self.fits) - self.finished

    @property
    def rows(self) -> int:
        """Training rows that the unfinished fits read, each row once in every epoch."""
        return sum(fit.rows for fit in self.fits if not fit.is_finished)


@final
@dataclass(frozen=True)
class DryRun:
    """What a comparison would do."""

    title: str
    about: str
    """What the study file says about itself."""
    commands: tuple[PlannedCommand, ...]
    lines: tuple[PlannedFits, ...]
    problems: Mapping[str, str] = field(default_factory=dict)
    """Column or system -> why it cannot be computed."""

    @property
    def fits(self) -> tuple[PlannedFit, ...]:
        """Every different fit."""
        return tuple(dict.fromkeys(fit for line in self.lines for fit in line.fits))

    @property
    def to_run(self) -> int:
        """Number of different fits that are not finished, as far as that is known."""
        return sum(not fit.is_finished for fit in self.fits)

    @property
    def known_seconds(self) -> list[float]:
        """The seconds of each different fit that is left and of which they are known."""
        return [fit.seconds for fit in self.fits if not fit.is_finished and fit.seconds is not None]


def dry_run_study(study: Study, runner: Runner, *, program: Sequence[str] = PROGRAM) -> DryRun:
    """Plan a study. A column whose data is missing is listed in `problems`, and no error is raised.

    `program` estimates the commands that build backbones.
    """
    plan = _Plan(study, runner)
    commands = [
        PlannedCommand(words, study.commands[words], estimate)
        for words, estimate in estimates(study, runner, program=program).items()
    ]
    lines = (*plan.lines(study.stages), *plan.lines(study.cells))
    return DryRun(study.title, study.about, tuple(commands), lines, plan.problems)


@final
class _Plan:
    """Plans the fits of a study; cells that share fits are planned together."""

    def __init__(self, study: Study, runner: Runner) -> None:
        self._study = study
        self._runner = study.reading(runner)
        self._built = {system.backbone for system in study.systems if system.make}
        self._stages = {cell.system: cell for cell in study.stages}
        self._titles = {column.name: column.title for column in study.columns}
        self._costs = list(finished_costs(runner.workspace.runs))
        self.problems = dict[str, str]()

    def lines(self, asked: Iterable[cells.Cell]) -> Iterator[PlannedFits]:
        """Yield a line for all cells with the same fits."""
        groups = dict[tuple[PlannedFit, ...], list[cells.Cell]]()
        for cell in asked:
            try:
                planning.check_splits(cell, self._runner)
            except DataError as problem:
                if not self._study.name:
                    raise
                for name in cell.columns or (cell.system,):
                    self.problems[name] = str(problem)
            else:
                groups.setdefault(self._fits(cell), []).append(cell)
        for fits, group in groups.items():
            systems = dict[str, None]()
            columns = dict[str, None]()
            for cell in group:
                systems[cell.system] = None
                columns |= dict.fromkeys(self._titles[name] for name in cell.columns)
            fitting = group[0].fitting
            added = 0
            if len({fit.seed for fit in fits}) == len(fitting.first_seeds):
                points = len(fits) // len(fitting.first_seeds)  # each cell of the group may select another one
                added = (len(fitting.seeds) - len(fitting.first_seeds)) * min(points, len(group))
            line = PlannedFits(
                tuple(systems),
                tuple(columns) or (FIRST_STAGE,),
                fits,
                added=added,
                is_searched=fitting.search is not None,
            )
            yield self._compared(line, group[0])

    def _fits(self, cell: cells.Cell) -> tuple[PlannedFit, ...]:
        """Plan the fits of a cell without a look at its backbone, which may not be built yet."""
        task = cell.task
        method = self._method(cell)
        first: tuple[str | Recipe, ...] = ()
        if cell.columns and not cell.skips_first and cell.system in self._stages:
            stage = self._stages[cell.system]
            stage_recipes, _ = planning.grid_and_seeds(stage.fitting, stage.task, self._method(stage))
            first = (stage.task.name, *stage_recipes)
        all_rows = len(self._runner.planner.rows(task, task.train))
        recipes, seeds = planning.grid_and_seeds(cell.fitting, task, method, all_rows)
        fits = []
        folds = task.folds.number if task.folds else 1
        shorter = planning.shorter_recipes(recipes, recipes[0].limit_train or all_rows, cell)
        if most := cell.fitting.most_points:
            recipes = heapq.nlargest(most, recipes, key=lambda recipe: recipe.passes(all_rows))
        for recipe in recipes:
            rows = self._rows_read(cell, recipe, shorter.get(recipe))
            goes_on = recipe in shorter
            for seed in seeds:
                fits.append(
                    PlannedFit(cell.backbone, first, task.name, method.name, recipe, seed, rows, goes_on, folds)
                )
        return tuple(fits)

    def _rows_read(self, cell: cells.Cell, recipe: Recipe, shorter: Recipe | None = None) -> int:
        """Estimate how many training rows a fit reads, each once in every epoch; 0 for a method that learns nothing.

        A method without steps reads each row once. `shorter` is the recipe of the fit that this one goes on from.
        """
        method = self._method(cell)
        if not method.needs_backbone:
            return 0
        task = cell.task
        rows = len(self._runner.planner.rows(task, task.train))
        rows = min(rows, recipe.limit_train or rows)
        passes = 1.0
        if method.trains_in_steps:
            passes = recipe.passes(rows) - (0 if shorter is None else shorter.passes(rows))
        return round(rows * passes) * (task.folds.passes if task.folds else 1)

    def _method(self, cell: cells.Cell) -> Method:
        return self._runner.plugins.methods.find(cell.method or cell.task.method)

    def _compared(self, line: PlannedFits, cell: cells.Cell) -> PlannedFits:
        """Say which fits of a line are finished, or why this is not known. All its cells have the fits of `cell`."""
        runner = self._runner
        if line.fits[0].first:
            return replace(line, problem="which fits are finished is known after the first task")
        if self._is_unbuilt(cell.backbone):
            return replace(line, problem="the backbone is not built yet")
        try:
            cell = planning.planned(cell, runner)
        except CheckpointError as error:  # for example, the checkpoint was never downloaded
            return replace(line, problem=first_line(error))
        if cell.fitting.most_points:
            return replace(line, problem=UNKNOWN_POINTS)
        going_on = planning.linked([cell])
        device = runner.resolved.device.partition(":")[0]
        compared = []
        for plan, fit in zip(line.fits, cell.fits, strict=True):
            if runner.folder(fit).finished_record() is not None:  # a failed fit runs again
                compared.append(replace(plan, is_finished=True))
                continue
            if plan.goes_on and self._has_left_no_state(going_on[going_on[fit.id].shorter]):
                plan = replace(plan, rows=self._rows_read(cell, plan.recipe), goes_on=False)
            kind = (fit.revision, fit.method, device, fit.recipe.precision)
            compared.append(replace(plan, seconds=expected_seconds(self._costs, fit.task, kind, plan.rows)))
        return replace(line, fits=tuple(compared))

    def _has_left_no_state(self, fit: Fit) -> bool:
        """Whether a fit is finished and its state is gone, because a longer fit has gone on from it."""
        folder = self._runner.folder(fit)
        return folder.finished_record() is not None and not folder.state.exists()

    def _is_unbuilt(self, backbone: str) -> bool:
        _, reference = self._runner.plugins.backbone_search.split(backbone)
        return backbone in self._built and not Path(reference).exists()
