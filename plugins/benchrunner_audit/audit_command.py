"""Command `audit`: score and flag prediction files, whoever wrote them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import PluginError, RequestError, print_line, print_note
from benchrunner.results import Plugins, command_line

if TYPE_CHECKING:
    from benchrunner import Task
    from benchrunner_audit.audit import Audit, AuditedFile

_FILES = "file of "
"""Prefix of the names under which scorers' options are stored: no other option has such a name."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `audit`."""
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="index<TAB>prediction with a header, one answer a line, what the task's official scorer reads, or a "
        "folder of such files",
    )
    parser.add_argument("--task", metavar="TASK", help="the task that the files answer (default: none is known)")
    parser.add_argument("--split", help="the split that the files answer (default: the first dev split)")
    parser.add_argument(
        "--gold", type=Path, metavar="FILE", help="file of labelled rows in the task's own layout, instead of --split"
    )
    parser.add_argument("--labels", metavar="A,B", help="the labels that are possible, for files without a --task")
    parser.add_argument(
        "--name",
        action="append",
        metavar="PATTERN",
        help="take the files with such names from folders; give it several times for several names (default: "
        "'*.tsv' and '*.txt')",
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
    from benchrunner_audit.audit import NAMES, audit_files
    from benchrunner_audit.question import question_of_labels, question_of_task

    options, output = command_line.options, command_line.output
    files = dict[str, Path]()
    for key, path in vars(arguments).items():
        if key.startswith(_FILES) and path is not None:
            files[key.removeprefix(_FILES)] = path
    _check(arguments, files)
    arguments.runs = None
    runner = Runner(arguments.plugins, options.workspace(arguments))
    if arguments.task is None:
        labels = [] if arguments.labels is None else arguments.labels.split(",")
        question = question_of_labels(labels)
    else:
        task = arguments.plugins.tasks.find(arguments.task)
        question = question_of_task(task, arguments.split, runner, gold=arguments.gold, files=files)
    audit = audit_files(arguments.files, question, names=arguments.name or NAMES)
    if arguments.json:
        output.print_json({"files": audit.files, "counts": audit.counts, "notes": audit.notes})
    else:
        _print(audit, question.task)
    return output.FAILED if any(file.fault for file in audit.files) else output.DONE


def _check(arguments: argparse.Namespace, files: Iterable[str]) -> None:
    """Raise a `RequestError` for options that mean nothing together."""
    if arguments.task is not None and arguments.labels is not None:
        raise RequestError("--labels is for files without a task, and --task names one. Leave one of them out.")
    given = [name for name in ("split", "data", "gold") if getattr(arguments, name) is not None]
    for name in (*given, *files):
        if arguments.task is None:
            raise RequestError(f"--{name} has no meaning without a task: give --task too, or leave it out.")
    if arguments.labels == "":
        raise RequestError("--labels is empty: give two or more labels, with commas between them.")


def _print(audit: Audit, task: Task | None) -> None:
    """Print the faults, all scores of a single file or a line for each of several, and what the flags sum up to."""
    notes = list(audit.notes)
    for file in audit.files:
        notes += file.notes
        if file.fault:
            print_line(file.fault)
    for note in dict.fromkeys(notes):
        print_note(note)
    first = audit.files[0]
    if len(audit.files) == 1 and first.text:
        print_line(first.text)
        print_line(f"flags: {_flag_text(first) or 'none'}")
    else:
        _print_table(audit, task)
        for sentence in _summary(audit):
            print_line(sentence)


def _print_table(audit: Audit, task: Task | None) -> None:
    """Print a line for each file, with the first score where files are scored."""
    scored = [file for file in audit.files if file.scores]
    header = ["file", "rows", "flags"]
    if scored:
        header.insert(2, next(iter(scored[0].scores)))
    rows = [header]
    for file in audit.files:
        row = [str(file.path), "-" if file.rows is None else f"{file.rows:,}", _flag_text(file)]
        if scored:
            row.insert(2, _score_text(file, task))
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print_line("  ".join(map(str.ljust, row, widths)).rstrip())


def _score_text(file: AuditedFile, task: Task | None) -> str:
    """Write the first score, scaled as tables scale it; an official scorer's figure has its own scale."""
    for name, score in file.scores.items():
        if score.value is None:
            return "absent"
        scales = {metric.name: metric.scale for metric in (task.metrics if task is not None else ())}
        return f"{score.value * (1 if file.rows is None else scales[name]):.2f}"
    return "-"


def _flag_text(file: AuditedFile) -> str:
    return "; ".join([*(["invalid"] if file.fault else []), *(flag.text for flag in file.flags)])


def _summary(audit: Audit) -> list[str]:
    """Say for each flag that occurs, and for invalid files, how many files have it."""
    total = len(audit.files)
    counts = audit.counts
    if invalid := sum(bool(file.fault) for file in audit.files):
        counts["invalid"] = invalid
    of_files = f"of {total:,} {'file' if total == 1 else 'files'}"
    return [f"{count:,} {of_files}: {name}." for name, count in counts.items()] or [f"0 {of_files} have a flag."]
