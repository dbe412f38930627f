"""Command `audit`: score and flag prediction files, whoever wrote them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import print_line, print_note
from benchrunner.results import command_line, comparison

if TYPE_CHECKING:
    from benchrunner_answers.audit import AuditedFile


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `audit`."""
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE", help="a file of answers, in any layout")
    parser.add_argument("--task", metavar="TASK", required=True, help="the task that the files answer")
    parser.add_argument("--split", help="the split that the files answer (default: the first dev split)")
    parser.add_argument(
        "--gold", type=Path, metavar="FILE", help="file of labelled rows in the task's own layout, instead of --split"
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a further file of the official scorer, such as na-prob=na_prob.json of SQuAD 2.0",
    )
    command_line.options.add_data(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; exit code 1 if a file is invalid."""
    from benchrunner.results import Runner
    from benchrunner_answers.audit import audit_files, question_of_task

    options, output = command_line.options, command_line.output
    files = {}
    for text in arguments.file:
        name, _, path = text.partition("=")
        files[name] = Path(path)
    arguments.runs = None
    runner = Runner(arguments.plugins, options.workspace(arguments))
    task = arguments.plugins.tasks.find(arguments.task)
    question = question_of_task(task, arguments.split, runner, gold=arguments.gold, files=files)
    audited = audit_files(arguments.files, question)
    if arguments.json:
        values = []
        for file in audited:
            flags = [{"code": comparison.code_of(flag), "name": flag} for flag in file.flags]
            facts = {**vars(file), "flags": flags}
            del facts["text"]
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
        flags = "; ".join(map(comparison.coded, file.flags)) or "none"
        print_line(file.fault or f"flags: {flags}")
