"""Command `compare`: compare several backbones on several tasks, or run a study file."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.command_line import options, study_commands
from benchrunner.errors import RequestError
from benchrunner.studies.backbones_by_tasks import named_backbones

if TYPE_CHECKING:
    from benchrunner.runs.runner import Runner
    from benchrunner.studies.study import Study


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `compare`."""
    from benchrunner.studies.study import MARGIN

    backbones = parser.add_argument("backbones", nargs="+", metavar="B", help=f"NAME=B, or B: {options.BACKBONES}")
    backbones.required = False  # not with --study; nargs="*" would take no backbones that follow another option
    parser.add_argument("--tasks", nargs="+", metavar="TASK", help="tasks or suites, separated by blanks or commas")
    MARGIN.add_to(parser)
    parser.add_argument(
        "--against", metavar="NAME", help="compare every system with this one alone, instead of all pairs of systems"
    )
    parser.add_argument(
        "--contrast",
        nargs="+",
        metavar="A-B",
        help="compare these pairs of systems alone: 'A - B', or A-B where this can be read in one way only",
    )
    options.add_study(parser)
    study = parser.add_argument_group("study", "instead of backbones and --tasks, a file that says what is compared")
    study.add_argument(
        "--study", metavar="NAME", help="a study of 'benchrunner list studies', or the path of a .toml file"
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
    from benchrunner.studies.significance.contrasts import with_contrasts

    study_commands.check_output(arguments)
    runner = options.runner(arguments)
    executor = options.executor(arguments)
    study = _compared(arguments, runner) if arguments.study is None else _study_of_file(arguments, runner)
    if arguments.margin is not None:
        study = dataclasses.replace(study, margin=arguments.margin)
    study = with_contrasts(study, arguments.against, arguments.contrast or ())
    return study_commands.planned_or_printed(study, runner, executor, arguments)


def _compared(arguments: argparse.Namespace, runner: Runner) -> Study:
    """Build the study of backbones and tasks."""
    for name in ("scale", "systems", "columns"):
        if getattr(arguments, name) is not None:
            raise RequestError(f"--{name} is for a study file: give its name with --study.")
    if not arguments.backbones or not arguments.tasks:
        missing = "the backbones" if not arguments.backbones else "--tasks"
        raise RequestError(
            f"Give {missing}: 'compare B1 B2 --tasks TASK', as all words after --tasks are tasks, or 'compare --study "
            "NAME' with one of 'benchrunner list studies'."
        )
    backbones = named_backbones(arguments.backbones)
    for reference in backbones.values():
        if "," in reference and ":" not in reference and not Path(reference).exists():
            raise RequestError(
                f"Backbones are separated by blanks: {' '.join(reference.split(','))}, not '{reference}'."
            )
    chosen = options.study_options(arguments)
    tasks = options.tasks(arguments, arguments.tasks)
    return chosen.study(backbones, tasks, runner, tests=options.splits(arguments))


def _study_of_file(arguments: argparse.Namespace, runner: Runner) -> Study:
    """Build the study of a study file."""
    for option, what in (("split", "which splits are scored"), ("metrics", "which metrics are shown")):
        if getattr(arguments, option) is not None:
            raise RequestError(f"The columns of the study {arguments.study} say {what}: leave --{option} out.")
    if arguments.published is not None:
        raise RequestError(f"The study {arguments.study} has published figures of its own: leave --published out.")
    for name, value in (("backbones", arguments.backbones), ("--tasks", arguments.tasks)):
        if value:
            kind = "columns" if name == "--tasks" else "systems"
            raise RequestError(
                f"The study {arguments.study} says which {name.strip('-')} there are: leave them out. "
                f"To choose some of its {kind}, give --{kind} A,B."
            )
    study: Study | None = runner.plugins.hook.read_study(
        name=arguments.study,
        runner=runner,
        parameters=options.set_values(arguments)[1],
        scale=arguments.scale,
        systems=None if arguments.systems is None else arguments.systems.split(","),
        columns=None if arguments.columns is None else arguments.columns.split(","),
        options=options.study_options(arguments, study_file=True),
    )
    if study is None:
        raise RequestError(f"No plugin reads the study {arguments.study}: the plugin 'studies' reads .toml files.")
    return study
