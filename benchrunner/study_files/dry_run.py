"""Dry runs: the commands and fits of a comparison, what exists already, and what is left to do. Nothing is run."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from benchrunner.errors import CheckpointError, DataError, first_line
from benchrunner.fits.estimates import CommandEstimate
from benchrunner.fits.record import Record
from benchrunner.parameters.recipes import Recipe
from benchrunner.runs.core_shares import automatic_shares
from benchrunner.runs.inventory.costs import FinishedCost, MeasuredCost, finished_costs, measured_cost
from benchrunner.runs.references import without_prefix
from benchrunner.runs.runner import Runner
from benchrunner.studies.study import Study
from benchrunner.studies.study_options import StudyOptions
from benchrunner.studies.study_run import grid_and_seeds, plan_study, rows_read
from benchrunner.study_files.plan import Need, chosen_study, needs_of, stage_study
from benchrunner.study_files.study_file import FULL, StudyFile
from benchrunner.study_files.system_commands import PROGRAM, estimate_command

FIRST_STAGE = "(first task)"
"""Text in place of a column's name, for fits of the task that a system is fine-tuned on first."""


@final
@dataclass(frozen=True)
class PlannedCommand:
    """A command that builds the backbone of a system."""

    words: tuple[str, ...]
    system: str
    estimate: CommandEstimate | None
    """What the command says about itself; None if it says nothing."""


@final
@dataclass(frozen=True)
class PlannedFit:
    """One fit. Lines of the plan may share it: equal fits are equal values."""

    backbone: str
    first: tuple[str, ...]
    """The task that the backbone is fine-tuned on first, with its options; empty if there is none."""
    task: str
    method: str
    recipe: Recipe
    seed: int
    rows: int
    """Training rows that the fit reads, each row once in every epoch."""
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
    measured: MeasuredCost | None = None
    """What earlier fits of the backbone cost, also fits of other studies and tasks; None if there are none."""
    part: int = 0
    """Number of the part of the comparison. A part begins when all fits of the part before are finished."""

    @property
    def finished(self) -> int:
        """Number of finished fits."""
        return sum(fit.is_finished for fit in self.fits)

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
        own = [(known.seconds, known.rows) for known in self.fits if known.seconds is not None and known.rows]
        if own:
            return sum(seconds for seconds, _ in own) / sum(rows for _, rows in own) * fit.rows
        return None if self.measured is None else self.measured.seconds(fit.rows)

    @property
    def seconds(self) -> float | None:
        """Time that the fits that are not finished need, one after another; None if nothing was measured."""
        seconds = [self.seconds_of(fit) for fit in self.fits]
        known = [value for value in seconds if value is not None]
        return sum(known) if len(known) == len(seconds) else None

    @property
    def basis(self) -> str:
        """What the estimate rests on; empty if there is none or nothing is left to run."""
        if self.seconds is None or self.finished == len(self.fits):
            return ""
        own = sum(fit.seconds is not None and fit.rows > 0 for fit in self.fits)
        if own:
            return f"{own} finished fit{'s' * (own > 1)} of the line"
        return "" if self.measured is None else self.measured.basis


@final
@dataclass(frozen=True)
class DryRun:
    """What a comparison would do."""

    title: str
    commands: tuple[PlannedCommand, ...]
    lines: tuple[PlannedFits, ...]
    problems: Mapping[str, str] = field(default_factory=dict)
    """Column or system -> why it cannot be computed."""
    jobs: int = 1
    """Number of fits that run at the same time."""

    @property
    def flops(self) -> float:
        """Floating-point operations that are left in the commands that count theirs."""
        return sum(command.estimate.flops or 0.0 for command in self.commands if command.estimate is not None)

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
        seconds = {fit: line.seconds_of(fit) for line in self.lines for fit in line.fits}
        known = [value for value in seconds.values() if value is not None]
        return sum(known), len(seconds) - len(known)

    @property
    def wall_seconds(self) -> float:
        """Seconds until the fits with an estimate are finished, if a fit beside others takes as long as alone."""
        parts, seen = dict[int, list[float]](), set[PlannedFit]()
        for line in self.lines:
            for fit in line.fits:
                if fit not in seen and (seconds := line.seconds_of(fit)):
                    parts.setdefault(line.part, []).append(seconds)
                seen.add(fit)
        return sum(_wall_seconds(part, self.jobs) for part in parts.values())


def _wall_seconds(seconds: Iterable[float], jobs: int) -> float:
    """Give each fit in turn to the worker that is free first; return when the last worker is finished."""
    workers = [0.0] * jobs
    for duration in seconds:
        heapq.heapreplace(workers, workers[0] + duration)
    return max(workers)


def dry_run_study(study: Study, runner: Runner, *, jobs: int | None = None) -> DryRun:
    """Plan a comparison of backbones on tasks.

    `jobs` is the number of fits that would run at the same time; None is the number that `run_study` would choose.
    """
    lines, costs = [], list(finished_costs(runner.workspace.runs))
    for task in study.tasks:
        for backbone in study.backbones:
            for method, name in study.names_of(backbone).items():
                methods = () if method is None else (method,)
                part = dataclasses.replace(study, backbones=(backbone,), tasks=(task,), methods=methods)
                lines.append(_line(part, (name,), (task.name,), runner, costs))
    return DryRun("", (), tuple(lines), jobs=_automatic_jobs(study, runner) if jobs is None else jobs)


def _automatic_jobs(study: Study, runner: Runner) -> int:
    """Return how many fits of a study would run at the same time."""
    try:
        fits = {fit.id: fit for cell in plan_study(study, runner) for fit in cell.fits}
    except CheckpointError:  # the lines of the plan name the checkpoint
        return 1
    shares = automatic_shares(list(fits.values()), runner.fit_runner)
    return 1 if shares is None else shares.jobs


def dry_run_study_file(
    name: str,
    runner: Runner,
    *,
    parameters: Mapping[str, str] | None = None,
    scale: str = FULL,
    systems: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    options: StudyOptions | None = None,
    program: Sequence[str] = PROGRAM,
    jobs: int = 1,
) -> DryRun:
    """Plan the fits of a study file. A column whose data is missing is listed in `problems`, and no error is raised.

    `jobs` is the number of fits that would run at the same time; the other arguments are those of `run_study_file`.
    """
    options, problems = options or StudyOptions(), dict[str, str]()
    study = chosen_study(
        name, runner, parameters or {}, scale=scale, systems=systems, columns=columns, family=options.family
    )
    needs = needs_of(study, options, runner, problems=problems)
    commands = tuple(
        PlannedCommand(words, system, estimate_command(words, runner.workspace, program=program, study=study.path))
        for words, system in study.commands.items()
    )
    built = {system.backbone for system in study.systems if system.make}
    costs = list(finished_costs(runner.workspace.runs))
    stages = tuple(_first_stages(study, options, runner, costs, problems, built))
    lines = _columns(needs, runner, costs, built, first_part=len(stages))
    return DryRun(study.title, commands, (*stages, *lines), problems, jobs)


def _first_stages(
    study: StudyFile,
    options: StudyOptions,
    runner: Runner,
    costs: Sequence[FinishedCost],
    problems: dict[str, str],
    built: Set[str],
) -> Iterator[PlannedFits]:
    planned: list[tuple[Study, list[str]]] = []  # systems that have the same first stage share its fits
    for system in study.systems:
        try:
            stage = stage_study(system, study, options, runner)
        except DataError as problem:
            problems[system.name] = str(problem)
            continue
        same = next((names for known, names in planned if known == stage), None)
        if same is not None:
            same.append(system.name)
        elif stage is not None:
            planned.append((stage, [system.name]))
    for part, (stage, names) in enumerate(planned):
        line = _line(stage, tuple(names), (FIRST_STAGE,), runner, costs, built=built)
        yield dataclasses.replace(line, part=part)


def _columns(
    needs: Iterable[Need], runner: Runner, costs: Sequence[FinishedCost], built: Set[str], *, first_part: int
) -> Iterator[PlannedFits]:
    """Plan the fits of the columns; columns and systems that share fits are planned together.

    Columns with the same options are a part of the comparison; `first_part` is the number of the first of these parts.
    """
    groups: dict[tuple[StudyOptions, str, str, tuple[str, ...]], list[Need]] = {}
    for need in needs:
        stage = need.system.first
        first = (
            () if stage is None else (stage.task, *(f"{key}={value}" for key, value in sorted(stage.recipe.items())))
        )
        groups.setdefault((need.options, need.backbone, need.task.name, first), []).append(need)
    parts = {options: part for part, options in enumerate(dict.fromkeys(key[0] for key in groups), first_part)}
    for (options, backbone, _, first), group in groups.items():
        study = options.study([backbone], [group[0].task], runner)
        systems = tuple(dict.fromkeys(need.system.name for need in group))
        columns = tuple(dict.fromkeys(need.column.name for need in group))
        line = _line(study, systems, columns, runner, costs, built=built, first=first)
        yield dataclasses.replace(line, part=parts[options])


def _line(
    study: Study,
    systems: tuple[str, ...],
    columns: tuple[str, ...],
    runner: Runner,
    costs: Sequence[FinishedCost],
    *,
    built: Set[str] = frozenset(),
    first: tuple[str, ...] = (),
) -> PlannedFits:
    """Plan the fits of a study of one backbone, one task and at most one method.

    `built` are the backbones that commands build.
    """
    (task,), (backbone,) = study.tasks, study.backbones
    method = runner.plugins.methods.find(next(iter(study.methods), task.method))
    recipes, seeds = grid_and_seeds(study, task, method)
    fits = tuple(
        PlannedFit(backbone, first, task.name, method.name, recipe, seed, rows_read(task, method, recipe, runner))
        for recipe in recipes
        for seed in seeds
    )
    if first:
        return PlannedFits(systems, columns, fits, "which fits are finished is known after the first task")
    parts = runner.plugins.backbone_search.part_names(backbone)
    if any(part in built and not Path(without_prefix(part, runner.plugins)).exists() for part in parts):
        return PlannedFits(systems, columns, fits, "the backbone is not built yet")
    try:
        (cell,) = plan_study(study, runner)
    except CheckpointError as error:  # for example, the checkpoint was never downloaded
        return PlannedFits(systems, columns, fits, first_line(error))
    known = tuple(_compared(plan, runner.folder(fit).record()) for plan, fit in zip(fits, cell.fits, strict=True))
    planned = next(cell.fits)
    wanted = FinishedCost(
        task.name,
        planned.revision,
        method.name,
        runner.resolved.device.partition(":")[0],
        planned.recipe.precision,
        0.0,
        0.0,
    )
    return PlannedFits(systems, columns, known, measured=measured_cost(costs, wanted))


def _compared(plan: PlannedFit, record: Record | None) -> PlannedFit:
    """Say in a planned fit whether it is finished, and how long it took."""
    if record is None or record.status == "failed":  # a failed fit runs again
        return plan
    seconds = record.timings.get("seconds") if record.status == "done" else None
    return dataclasses.replace(plan, is_finished=True, seconds=seconds)
