"""Run a study file: build its systems, fit them, and take the figures of its table."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchrunner.console.printing import print_note
from benchrunner.fits.executor import Executor
from benchrunner.fits.notebook_bar import in_notebook
from benchrunner.runs.runner import Runner
from benchrunner.studies.kept.keeper import StudyKeeper
from benchrunner.studies.kept.naming import derived_file_name
from benchrunner.studies.study import Cell, CellResult, Result, Selection, Study, selected_fit
from benchrunner.studies.study_options import StudyOptions
from benchrunner.studies.study_run import plan_study, run_part
from benchrunner.study_files.entries import Entry, entry_of_ensemble, entry_of_log, entry_of_metric, mean_entry
from benchrunner.study_files.kept_study_file import entries_json, study_file_json
from benchrunner.study_files.plan import Need, cells_of, chosen_study, grouped, naming, needs_of, stage_study
from benchrunner.study_files.study_file import FULL, StudyFile, System
from benchrunner.study_files.submit_commands import submissions
from benchrunner.study_files.system_commands import PROGRAM, estimate_command, run_command
from benchrunner.study_files.table import StudyFileResult


def run_study_file(
    name: str,
    runner: Runner,
    *,
    parameters: Mapping[str, str] | None = None,
    scale: str = FULL,
    systems: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    options: StudyOptions | None = None,
    executor: Executor | None = None,
    show_progress: bool | None = None,
    program: Sequence[str] = PROGRAM,
    keep_as: str | None = None,
    command: Sequence[str] = (),
) -> StudyFileResult:
    """Run a study file and return its table.

    `name` is the name of a plugin's study or the path of a .toml file. `parameters` are values of the file's
    parameters, `scale` is the name of one of its scales. `systems` and `columns` are names of some of its systems and
    columns; None means all that are not extra. `options` override the options of the file. `program` runs the commands
    that build backbones. Everything is checked before the first command runs. The study is kept in the runs folder
    under `keep_as`, by default a name made of those of the file and the scale (`StudyFileResult.name`), with `command`,
    the words of the command line that repeats the study; `read_study` reads the result again. `show_progress=None`
    shows progress in notebooks only.
    """
    options = options or StudyOptions()
    show_progress = in_notebook() if show_progress is None else show_progress
    study = chosen_study(
        name, runner, parameters or {}, scale=scale, systems=systems, columns=columns, family=options.family
    )
    needs = needs_of(study, options, runner)
    list(grouped(needs, runner))  # raises an error for options that cannot be
    stages = {system.name: stage_study(system, study, options, runner) for system in study.systems}
    _check_commands(study, runner, program)
    _check_backbones((need.system for need in needs), study, runner, before_commands=True)
    _run_commands(study, runner, program, show_progress=show_progress)
    _check_backbones((need.system for need in needs), study, runner)
    request = _request(study, systems, columns, options)
    kept_name = keep_as or derived_file_name(study.name, study.scale.name, request)
    keeper = StudyKeeper(runner, kept_name, request, command=command, study_file=study_file_json(study))

    def run(part: Study, cells: Sequence[Cell]) -> Result:
        return run_part(part, cells, part.limited(runner), keeper, executor=executor, show_progress=show_progress)

    first = {name: run(stage, plan_study(stage, runner)) for name, stage in stages.items() if stage is not None}
    fitted = {name: f"run:{selected_fit(result.cells[0]).id}" for name, result in first.items()}
    needs = [replace(need, backbone=fitted.get(need.system.name, need.backbone)) for need in needs]
    results = [
        (part_options, run(part, cells_of(part_options, part, needs, runner)))
        for part_options, part in grouped(needs, runner)
    ]
    entries = _entries(study, needs, results, runner)
    parts = (*first.values(), *(result for _, result in results))
    commands = submissions(study, needs, entries, runner)
    keeper.complete(entries=entries_json(entries, parts), submissions=commands)
    return StudyFileResult(study, entries, parts, commands, name=kept_name)


def _check_commands(study: StudyFile, runner: Runner, program: Sequence[str]) -> None:
    """Let each command that builds a backbone check its arguments: the last is refused before the first runs."""
    for words, system in study.commands.items():
        with naming(f"{study.name}, system {system}"):
            estimate_command(words, runner.workspace, program=program, study=study.path)


def _run_commands(study: StudyFile, runner: Runner, program: Sequence[str], *, show_progress: bool) -> None:
    """Run the commands that build the study's backbones."""
    if study.commands:
        runner.observers.call(
            "before_study", fits=()
        )  # the fits are not known yet; a refusal must not come after hours
    for number, (words, system) in enumerate(study.commands.items(), start=1):
        if show_progress:
            print_note(f"{number} of {len(study.commands)}, {system}: benchrunner {shlex.join(words)}")
        run_command(words, runner.workspace, program=program, show_output=show_progress, study=study.path)


def _request(
    study: StudyFile, systems: Sequence[str] | None, columns: Sequence[str] | None, options: StudyOptions
) -> dict[str, Any]:
    """Return what is asked of a study file, as JSON values."""
    return {
        "study": study.name,
        "parameters": dict(study.values),
        "scale": study.scale.name,
        "systems": None if systems is None else list(systems),
        "columns": None if columns is None else list(columns),
        "options": options.as_json(),
    }


def _existing(system: System, study: StudyFile, runner: Runner) -> list[str]:
    """Name the backbones of a system that must exist before any command runs.

    This is the system's backbone, unless commands build it. If commands build parts of a combination, these are its
    other parts.
    """
    if system.make:
        return []
    built = {builder.backbone for builder in study.systems if builder.make}
    parts = runner.plugins.backbone_search.part_names(system.backbone)
    existing = [part for part in parts if part not in built]
    return existing if len(existing) < len(parts) else [system.backbone]


def _check_backbones(
    systems: Iterable[System], study: StudyFile, runner: Runner, *, before_commands: bool = False
) -> None:
    for system in systems:
        with naming(f"{study.name}, system {system.name}"):
            for backbone in _existing(system, study, runner) if before_commands else [system.backbone]:
                runner.planner.backbone(backbone)


def _entries(
    study: StudyFile, needs: Iterable[Need], results: Sequence[tuple[StudyOptions, Result]], runner: Runner
) -> dict[tuple[str, str], Entry]:
    cells: dict[tuple[StudyOptions, str, str, Selection], CellResult] = {}
    for options, result in results:
        for cell in result.cells:
            cells[options, cell.cell.backbone, cell.cell.task.name, cell.cell.selection] = cell
    entries = {}
    for need in needs:
        cell = cells[need.options, need.backbone, need.task.name, need.selection]
        limited = next(result.runner for options, result in results if options == need.options) or runner
        entry = (
            entry_of_ensemble(cell, need.term, limited) if need.system.ensemble else entry_of_metric(cell, need.term)
        )
        entries[need.system.name, need.column.name] = entry
    for column in study.columns:
        if column.figure:
            entries |= {(system.name, column.name): entry_of_log(system, column.figure) for system in study.systems}
    for column in study.columns:  # after the columns that they are computed from
        if column.mean:
            entries |= {(system.name, column.name): mean_entry(system, column, entries) for system in study.systems}
    return entries
