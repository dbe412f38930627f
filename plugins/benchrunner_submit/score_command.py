"""Command `score`: score a prediction file, whoever wrote it, by the official rules."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from benchrunner import PluginError, print_line, print_note
from benchrunner.results import Plugins, command_line

_FILES = "file of "
"""Prefix of the names under which scorers' options are stored: no other option has such a name."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `score`."""
    options = command_line.options
    parser.add_argument("task", metavar="TASK", help="a task (suite/task) or its short name")
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="what the task's official scorer reads, or index<TAB>prediction with a header, or one answer a line",
    )
    parser.add_argument(
        "--gold", type=Path, metavar="FILE", help="file of labelled rows in the task's own layout, instead of --split"
    )
    parser.add_argument("--split", help="a labelled split of the task's data (default: the first dev split)")
    options.add_workspace(parser)
    options.add_json(parser)
    _add_files(parser, parser.get_default("plugins"))


def _add_files(parser: argparse.ArgumentParser, plugins: Plugins) -> None:
    """Add an option for each further file that a task's scorer takes; scorers of several tasks may share an option."""
    known = set[str]()
    for task in plugins.tasks.values():
        try:
            for name, about in (task.scorer.options if task.scorer is not None else {}).items():
                if name not in known:
                    _add_file(parser, name, about)
                known.add(name)
        except Exception as error:  # a plugin's scorer may be broken; the others work
            plugins.fail(plugins.supplier(task).name, error, f"the options of {task.name}'s scorer: ")


def _add_file(parser: argparse.ArgumentParser, name: str, about: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise PluginError(f"'{name}' is not a name of an option: it must be of lower case and hyphens")
    parser.add_argument(f"--{name}", type=Path, metavar="FILE", dest=_FILES + name, help=about.replace("%", "%%"))


def run(arguments: argparse.Namespace) -> int:
    """Print the scores."""
    from benchrunner.results import Runner
    from benchrunner_submit.file_scores import score_file

    output = command_line.output
    given = {key.removeprefix(_FILES): value for key, value in vars(arguments).items() if key.startswith(_FILES)}
    scored = score_file(
        arguments.plugins.tasks.find(arguments.task),
        arguments.file,
        Runner(arguments.plugins, command_line.options.workspace(arguments)),
        split=arguments.split,
        gold=arguments.gold,
        files={name: path for name, path in given.items() if path is not None},
    )
    for note in scored.notes:
        print_note(note)
    if arguments.json:
        output.print_json(scored.scores)
    else:
        print_line(scored.text)
    return output.DONE
