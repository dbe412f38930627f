"""Command `run`: fit one backbone to one or a few tasks, and score dev."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.command_line import options
from benchrunner.command_line.output import print_result
from benchrunner.command_line.study_commands import check_output, finished_study, print_plan
from benchrunner.console.printing import print_line
from benchrunner.errors import RequestError, UnknownName

if TYPE_CHECKING:
    from benchrunner.plugins.registry import Plugins
    from benchrunner.tasks.task import Task


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="a task (suite/task), its short name, or a suite")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--backbone", metavar="B", help=options.BACKBONES)
    source.add_argument("--init-from", metavar="RUN", help="start from a finished fit, like --backbone run:RUN")
    options.add_study(parser)
    options.add_json(parser)
    parser.set_defaults(format="table")


def run(arguments: argparse.Namespace) -> int:
    """Run the study and print its result, with the folder of each selected fit."""
    check_output(arguments)
    if len(arguments.method or ()) > 1:
        raise RequestError(
            f"'run' fits one method, not {', '.join(arguments.method)}. "
            f"To compare them, write 'benchrunner {_as_compare(arguments)}'."
        )
    runner = options.runner(arguments)
    chosen = options.study_options(arguments)
    executor = options.executor(arguments)  # before data is read: bad options are refused at once
    published = options.published(arguments, [arguments.backbone] if arguments.backbone else [])
    try:
        tasks = options.tasks(arguments, arguments.tasks)
    except UnknownName:
        for word in arguments.tasks:
            if Path(word).is_dir() or arguments.plugins.backbones.offer(word):
                raise RequestError(f"'{word}' is no task but a backbone: write --backbone {word}.") from None
        raise
    study = chosen.study((_backbone(arguments, tasks),), tasks, runner, tests=options.splits(arguments))
    if arguments.dry_run:
        return print_plan(study, runner, arguments)
    result = finished_study(study, runner, executor, arguments, reserved=arguments.json)
    code = print_result(result, published=published, form=arguments.format)
    if not arguments.json:
        for cell in result.cells:
            if cell.selected is not None:
                print_line(f"  {cell.cell.task.name}: run {cell.selected.id} in {runner.folder(cell.selected).path}")
    return code


def _as_compare(arguments: argparse.Namespace) -> str:
    """Write the `compare` command for the backbone, tasks and methods that `run` was given, without other options."""
    backbone = arguments.backbone or (f"run:{arguments.init_from}" if arguments.init_from else "B")
    words = ["compare", backbone, "--tasks", *arguments.tasks, "--method", ",".join(arguments.method)]
    return shlex.join(words)


def _backbone(arguments: argparse.Namespace, tasks: Iterable[Task]) -> str:
    """Return the backbone that is asked for; only methods that do not look at a backbone can do without."""
    if arguments.family is not None and arguments.backbone is None:
        reason = "" if arguments.init_from is None else "; a finished fit is read by the family that made it"
        raise RequestError(f"--family says which plugin loads --backbone, and there is none{reason}. Leave it out.")
    if arguments.init_from is not None:
        return f"run:{arguments.init_from.removeprefix('run:')}"
    if arguments.backbone is not None:
        return str(arguments.backbone)
    plugins: Plugins = arguments.plugins
    for task in tasks:
        method = plugins.methods.find(next(iter(arguments.method or ()), task.method))
        if method.needs_backbone:
            names = list(plugins.backbones)[:4]
            known = (
                f"'benchrunner list backbones' has {', '.join(names)} and others" if names else "No plugin brings one"
            )
            raise RequestError(
                f"{task.name} is answered by '{method.name}', which needs a backbone: give --backbone with a name, "
                f"a folder or a hub id. {known}."
            )
    return "none"
