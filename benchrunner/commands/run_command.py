"""Command `run`: fit one backbone to one or a few tasks, and score dev."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.command_line import options
from benchrunner.command_line.output import print_result
from benchrunner.command_line.study_commands import add_notes_and_json, check_output, finished_study, print_plan
from benchrunner.console.printing import print_line
from benchrunner.errors import RequestError, UnknownName

if TYPE_CHECKING:
    from benchrunner.tasks.task import Task


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    parser.add_argument("tasks", nargs="+", metavar="TASK", help="a task (suite/task), its short name, or a suite")
    parser.add_argument("--backbone", metavar="B", help=options.BACKBONES)
    options.add_study(parser)
    add_notes_and_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the study and print its result, with the folder of each selected fit."""
    check_output(arguments)
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
    result = finished_study(study, runner, executor, arguments)
    code = print_result(result, published, form=arguments.format, notes_by=arguments.notes)
    if not arguments.json:
        for cell in result.cells:
            if cell.selected:
                print_line(f"  {cell.cell.task.name}: run {cell.selected.id} in {runner.folder(cell.selected).path}")
    return code


def _backbone(arguments: argparse.Namespace, tasks: Iterable[Task]) -> str:
    """Return the backbone that is asked for; only methods that do not look at a backbone can do without."""
    if arguments.backbone is not None:
        return str(arguments.backbone)
    for task in tasks:
        method = arguments.plugins.methods.find(next(iter(arguments.method or ()), task.method))
        if method.needs_backbone:
            raise RequestError(
                f"{task.name} is answered by '{method.name}', which needs a backbone: give --backbone with a name of "
                "'benchrunner list backbones', a folder or a hub id."
            )
    return "none"
