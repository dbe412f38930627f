"""Command `audit`: score and flag prediction files, whoever wrote them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import PluginError, print_line, print_note
from benchrunner.results import Plugins, command_line, comparison

if TYPE_CHECKING:
    from benchrunner_answers.audit import AuditedFile

_FILES = "file of "
"""Prefix of the names under which scorers' options are stored: no other option has such a name."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `audit`."""
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="a file of answers, in any layout")
    parser.add_argument("--task", metavar="TASK", required=True, help="the task that the files answer")
    parser.add_argument("--split", help="the split that the files answer (default: the first dev split)")
    parser.add_argument(
        "--gold", type=Path, metavar="FILE", help="file of labelled rows in the task's own layout, instead of --split"
    )
    command_line.options.add_data(parser)
    command_line.options.add_json(parser)
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
    """Print what was found; exit code 1 if a file is invalid."""
    from benchrunner.results import Runner
    from benchrunner_answers.audit import audit_files, question_of_task

    options, output = command_line.options, command_line.output
    files = dict[str, Path]()
    for key, path in vars(arguments).items():
        if key.startswith(_FILES) and path is not None:
            files[key.removeprefix(_FILES)] = path
    arguments.runs = None
    runner = Runner(arguments.plugins, options.workspace(arguments))
    task = arguments.plugins.tasks.find(arguments.task)
    question = question_of_task(task, arguments.split, runner, gold=arguments.gold, files=files)
    audited = audit_files(arguments.files, question)
    if arguments.json:
        values = []
        for file in audited:
            flags = [{"code": comparison.code_of(flag), "name": flag} for flag in file.flags]
            facts = {"path": file.path, "rows": file.rows, "flags": flags, "scores": file.scores, "fault": file.fault}
            values.append(facts)
        output.print_json({"files": values, "notes": question.notes})
    else:
        _print(audited, question.notes)
    return output.FAILED if any(file.fault for file in audited) else output.DONE


def _print(audited: Sequence[AuditedFile], notes: Sequence[str]) -> None:
    """Print the scores and flags of each file, or its fault; what is unusual goes to standard error."""
    for note in dict.fromkeys([*notes, *chain.from_iterable(file.notes for file in audited)]):
        print_note(note)
    for file in audited:
        if file.text:
            print_line(file.text)
        print_line(file.fault or f"flags: {file.coded_flags}")
