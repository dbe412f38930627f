"""Command `compare`: compare several backbones on several tasks, or run a study file."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

from benchrunner.command_line import options, study_commands
from benchrunner.errors import RequestError
from benchrunner.studies.system_names import named_backbones

if TYPE_CHECKING:
    from benchrunner.runs.runner import Runner
    from benchrunner.studies.kept.kept_study import KeptStudy
    from benchrunner.studies.study import Study

OF_FILES = ("scale", "systems", "columns")
"""Options that choose from what a study file has."""
SETTLED = ("backbones", "tasks", "split")
"""What every study of a name settles."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `compare`."""
    from benchrunner.studies.study import MARGIN

    backbones = parser.add_argument("backbones", nargs="+", metavar="B", help=f"B, or NAME=B: {options.BACKBONES}")
    backbones.required = False  # not with --study; nargs="*" would take no backbones that follow another option
    parser.add_argument("--tasks", nargs="+", metavar="TASK", help="tasks or suites; separated by blanks or commas")
    MARGIN.add_to(parser)
    parser.add_argument(
        "--against",
        metavar="NAME",
        help="compare every system with this one alone, instead of all pairs of systems",
    )
    options.add_study(parser)
    study = parser.add_argument_group("study")
    study.add_argument(
        "--study",
        metavar="NAME",
        help="a study of 'list studies', a .toml file, or a kept study; in place of backbones and tasks. Fits that a "
        "kept study lacks are run, and it is printed",
    )
    study.add_argument("--systems", metavar="A,B", help="only these systems of the study, the rows of its table")
    study.add_argument("--columns", metavar="A,B", help="only these columns of the study")
    study.add_argument(
        "--scale",
        metavar="NAME",
        help="size of the study, where its file has several: tiny (minutes), small (an afternoon) or full (default)",
    )
    study_commands.add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run what is compared and print the table."""
    from benchrunner.studies.contrasts import compared_with
    from benchrunner.studies.kept.kept_results import read_study

    study_commands.check_output(arguments)
    runner = options.runner(arguments)
    executor = options.executor(arguments)
    if arguments.study is None:
        study = _compared(arguments, runner)
    elif kept := _kept(arguments, runner):
        result = read_study(kept.name, runner)
        if kept.ended and result.is_complete and not (arguments.dry_run or arguments.cost):
            return study_commands.print_shown(result, arguments)
        study, runner = result.study, result.runner or runner
        arguments.name, arguments.words = kept.name, ()
    else:
        study = _study_of_file(arguments, runner)
    if arguments.margin is not None:
        study = dataclasses.replace(study, margin=arguments.margin)
    if arguments.against is not None:
        study = compared_with(study, arguments.against)
    return study_commands.planned_or_printed(study, runner, executor, arguments)


def _compared(arguments: argparse.Namespace, runner: Runner) -> Study:
    """Build the study of backbones and tasks."""
    _refuse(OF_FILES, "Without --study, no study file is named", arguments)
    if not arguments.backbones or not arguments.tasks:
        missing = "--tasks" if arguments.backbones else "the backbones, before --tasks: all words after it are tasks"
        raise RequestError(
            f"Give {missing}. Write 'compare B1 B2 --tasks TASK', or 'compare --study NAME' with one of "
            "'benchrunner list studies' or 'benchrunner runs studies'."
        )
    backbones = named_backbones(arguments.backbones)
    tasks = options.tasks(arguments, arguments.tasks)
    return options.study_options(arguments).study(backbones, tasks, runner, tests=options.splits(arguments))


def _refuse(names: Iterable[str], why: str, arguments: argparse.Namespace) -> None:
    """Raise a `RequestError` for the first of the options that is given."""
    for name in names:
        if getattr(arguments, name, None):
            raise RequestError(f"{why}: leave {name.replace('_', '-')} out.")


def _kept(arguments: argparse.Namespace, runner: Runner) -> KeptStudy | None:
    """Find the kept study that --study names; None for a study file, which comes first if both have the name."""
    from benchrunner.plugins.offered_values import meant
    from benchrunner.studies.kept.kept_study import find_study
    from benchrunner.studies.study_options import StudyOptions

    name = arguments.study
    files = runner.plugins.studies
    if name.endswith(".toml") or meant(name, files) is not None:
        return None
    kept = find_study(runner.workspace.runs, name, files)
    fixed = (*SETTLED, *OF_FILES, "set", "margin", "against", "name", *StudyOptions.declared(runner.plugins))
    _refuse(fixed, f"The kept study {name} stays as it was asked", arguments)
    return kept


def _study_of_file(arguments: argparse.Namespace, runner: Runner) -> Study:
    """Build the study of a study file."""
    _refuse(
        (*SETTLED, "metrics", "published"),
        f"The study {arguments.study} says what is compared and shown, and --systems and --columns choose from it",
        arguments,
    )
    study: Study | None = runner.plugins.hook.read_study(
        name=arguments.study,
        runner=runner,
        parameters=options.pairs(arguments.set, "--set"),
        scale=arguments.scale,
        systems=None if arguments.systems is None else arguments.systems.split(","),
        columns=None if arguments.columns is None else arguments.columns.split(","),
        options=options.study_options(arguments, study_file=True),
    )
    if study is None:
        raise RequestError(f"No plugin reads the study {arguments.study}: the plugin 'studies' reads .toml files.")
    return study
