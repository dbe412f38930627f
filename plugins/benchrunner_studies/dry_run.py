"""Dry runs: the commands and fits of a comparison, what exists already, and what is left to do. Nothing is run."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import final

from benchrunner import CheckpointError, CommandEstimate, DataError, Recipe
from benchrunner.engine import Method, first_line
from benchrunner.results import Fit, Local, Runner, Study, cells, planning
from benchrunner_studies.finished_costs import FitCost, expected_cost, finished_costs
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
    """Time that the fit took; None if it is not finished, or diverged."""


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
    measured: FitCost | None = None
    """What earlier fits of the backbone cost, also fits of other studies and tasks; None if there are none."""
    added: int = 0
    """Number of restarts that may be added until comparisons are clear."""
    is_searched: bool = False
    """Whether fits may be left out, because their shorter trainings were no better than others."""
    part: int = 0
    """Number of the part of the comparison. A part begins when all fits of the part before are finished."""

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

    def seconds_of(self, fit: PlannedFit) -> float | None:
        """Estimate the seconds of a fit; 0 if it is finished, None if nothing was measured.

        The estimate comes from the finished fits of this line; if there are none, from earlier fits of the backbone.
        """
        if fit.is_finished or not fit.rows:
            return 0.0
        if self._timed:
            rows = sum(known.rows for known in self._timed)
            return sum(known.seconds or 0.0 for known in self._timed) / rows * fit.rows
        return None if self.measured is None else self.measured.seconds(fit.rows)

    @property
    def _timed(self) -> list[PlannedFit]:
        """The finished fits of which is known how long they took for their rows."""
        return [fit for fit in self.fits if fit.seconds is not None and fit.rows]

    @property
    def seconds(self) -> float | None:
        """Time that the fits that are not finished need, one after another; None if nothing was measured."""
        total = 0.0
        for fit in self.fits:
            seconds = self.seconds_of(fit)
            if seconds is None:
                return None
            total += seconds
        return total

    @property
    def basis(self) -> str:
        """What the estimate rests on; empty if there is none or nothing is left to run."""
        if self.seconds is None or not self.to_run:
            return ""
        count = len(self._timed)
        if count:
            return f"{count} finished fit{'s' * (count > 1)} of the line"
        return "" if self.measured is None else self.measured.basis


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
    jobs: int = 1
    """Number of fits that run at the same time."""

    @property
    def flops(self) -> float:
        """Floating-point operations that the commands of the plan still have to compute, where they estimate them."""
        return sum(command.estimate.flops or 0.0 for command in self.commands)

    @property
    def fits(self) -> tuple[PlannedFit, ...]:
        """Every different fit."""
        return tuple(dict.fromkeys(fit for line in self.lines for fit in line.fits))

    @property
    def to_run(self) -> int:
        """Number of different fits that are not finished, as far as that is known."""
        return sum(not fit.is_finished for fit in self.fits)

    @property
    def seconds(self) -> tuple[float, int]:
        """Seconds of the different fits that are left, one after another; number of fits without an estimate."""
        seconds = {}
        for line in self.lines:
            for fit in line.fits:
                seconds[fit] = line.seconds_of(fit)
        known = [value for value in seconds.values() if value is not None]
        return sum(known), len(seconds) - len(known)

    @property
    def has_estimate(self) -> bool:
        """Whether the time of some fit that is left is known; true if no fit is left."""
        return not self.to_run or self.seconds[1] < self.to_run

    @property
    def wall_seconds(self) -> float:
        """Seconds until the fits with an estimate are finished, if a fit beside others takes as long as alone."""
        parts = dict[int, list[float]]()
        seen = set()
        for line in self.lines:
            for fit in line.fits:
                if fit not in seen:
                    seen.add(fit)
                    parts.setdefault(line.part, []).append(line.seconds_of(fit) or 0.0)
        return sum(_wall_seconds(part, self.jobs) for part in parts.values())


def _wall_seconds(seconds: Iterable[float], jobs: int) -> float:
    """Give each fit in turn to the worker that is free first; return when the last worker is finished."""
    workers = [0.0] * jobs
    for duration in seconds:
        heapq.heapreplace(workers, workers[0] + duration)
    return max(workers)


def dry_run_study(study: Study, runner: Runner, *, jobs: int | None = None, program: Sequence[str] = PROGRAM) -> DryRun:
    """Plan a study. A column whose data is missing is listed in `problems`, and no error is raised.

    `jobs` is the number of fits that would run at the same time; None is the number that `run_study` would choose, or
    1 if the study has first tasks or builds backbones. `program` estimates the commands that build backbones.
    """
    plan = _Plan(study, runner)
    commands = []
    for words, estimate in estimates(study, runner, program=program).items():
        commands.append(PlannedCommand(words, study.commands[words], estimate))
    lines = (*plan.lines(study.stages, part=0), *plan.lines(study.cells, part=1))
    return DryRun(study.title, study.about, tuple(commands), lines, plan.problems, jobs or plan.jobs())


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

    def lines(self, asked: Iterable[cells.Cell], part: int) -> Iterator[PlannedFits]:
        """Yield a line for all cells with the same fits; `part` is the number of the part of the comparison."""
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
                part=part,
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
        fits = list(cell.fits)
        going_on = planning.linked([cell])
        compared = []
        for plan, fit in zip(line.fits, fits, strict=False):
            record = runner.folder(fit).finished_record()  # a failed fit runs again
            if record is not None:
                seconds = record.timings.get("seconds") if record.status == "done" else None
                plan = replace(plan, is_finished=True, seconds=seconds)
            elif plan.goes_on and self._has_left_no_state(going_on[going_on[fit.id].shorter]):
                plan = replace(plan, rows=self._rows_read(cell, plan.recipe), goes_on=False)
            compared.append(plan)
        device = runner.resolved.device.partition(":")[0]
        wanted = FitCost(fits[0].task, (fits[0].revision, fits[0].method, device, fits[0].recipe.precision))
        if cell.fitting.most_points:
            compared, line = list(line.fits), replace(line, problem=UNKNOWN_POINTS)
        return replace(line, fits=tuple(compared), measured=expected_cost(self._costs, wanted))

    def _has_left_no_state(self, fit: Fit) -> bool:
        """Whether a fit is finished and its state is gone, because a longer fit has gone on from it."""
        folder = self._runner.folder(fit)
        return folder.finished_record() is not None and not folder.state.exists()

    def _is_unbuilt(self, backbone: str) -> bool:
        _, reference = self._runner.plugins.backbone_search.split(backbone)
        return backbone in self._built and not Path(reference).exists()

    def jobs(self) -> int:
        """Return how many fits would run at the same time."""
        if self._study.stages or self._study.commands or self.problems:
            return 1
        try:
            fits = cells.different_fits(planning.planned(cell, self._runner) for cell in self._study.cells)
        except CheckpointError:  # the lines of the plan name the checkpoint
            return 1
        shares = Local().shares(fits, self._runner.fit_runner)
        return 1 if shares is None else shares.jobs
