"""Command `audit`: flag prediction files, whoever wrote them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import RequestError, print_line, print_note
from benchrunner.results import command_line

if TYPE_CHECKING:
    from benchrunner import Task
    from benchrunner_audit.audit import Audit, AuditedFile


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `audit`."""
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="a prediction file as 'benchrunner score' reads it, or a folder, read with all folders below it",
    )
    parser.add_argument("--task", metavar="TASK", help="the task that the files answer (default: none is known)")
    parser.add_argument("--split", help="the split that the files answer (default: the first dev split)")
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


def run(arguments: argparse.Namespace) -> int:
    """Print what was found; exit code 1 if a file is invalid."""
    from benchrunner.results import Runner
    from benchrunner_audit.audit import NAMES, audit_files
    from benchrunner_audit.question import question_of_labels, question_of_task

    options, output = command_line.options, command_line.output
    _check(arguments)
    arguments.runs = None
    runner = Runner(arguments.plugins, options.workspace(arguments))
    if arguments.task is None:
        labels = [] if arguments.labels is None else arguments.labels.split(",")
        question = question_of_labels(labels)
    else:
        question = question_of_task(arguments.plugins.tasks.find(arguments.task), arguments.split, runner)
    audit = audit_files(arguments.files, question, runner, names=arguments.name or NAMES)
    if arguments.json:
        output.print_json({"files": audit.files, "counts": audit.counts, "notes": audit.notes})
    else:
        _print(audit, question.task)
    return output.DONE if audit.is_valid else output.FAILED


def _check(arguments: argparse.Namespace) -> None:
    """Raise a `RequestError` for options that mean nothing together."""
    if arguments.task is not None and arguments.labels is not None:
        raise RequestError("--labels is for files without a task, and --task names one. Leave one of them out.")
    for name in ("split", "data"):
        if arguments.task is None and getattr(arguments, name) is not None:
            raise RequestError(f"--{name} has no meaning without a task: give --task too, or leave it out.")
    if arguments.labels == "":
        raise RequestError("--labels is empty: give two or more labels, with commas between them.")


def _print(audit: Audit, task: Task | None) -> None:
    """Print the faults, a line for each file, and what the flags sum up to."""
    for note in audit.notes:
        print_note(note)
    for file in audit.files:
        if file.fault:
            print_line(file.fault)
    scored = next((file for file in audit.files if file.scores), None)
    rows = [("file", "rows", *([] if scored is None else [next(iter(scored.scores))]), "flags")]
    for file in audit.files:
        score = [] if scored is None else [_score_text(file, task)]
        rows.append((str(file.path), "-" if file.rows is None else f"{file.rows:,}", *score, _flag_text(file)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *figures, flags in rows:
        aligned = [f"{figure:>{width}}" for figure, width in zip(figures, widths[1:-1], strict=True)]
        print_line("  ".join([f"{first:<{widths[0]}}", *aligned, flags]).rstrip())
    for sentence in _summary(audit):
        print_line(sentence)


def _score_text(file: AuditedFile, task: Task | None) -> str:
    """Write the first score as `benchrunner score` does."""
    for name, score in file.scores.items():
        if score.value is None:
            return "absent"
        scales = {metric.name: metric.scale for metric in (task.metrics if task is not None else ())}
        return f"{score.value * (1 if file.rows is None else scales[name]):.2f}"
    return "-"


def _flag_text(file: AuditedFile) -> str:
    texts = [f"{flag.name} ({flag.detail})" if flag.detail else flag.name for flag in file.flags]
    return "; ".join([*(["invalid"] if file.fault else []), *texts])


def _summary(audit: Audit) -> list[str]:
    """Say for each flag that occurs, and for invalid files, how many files have it."""
    total = len(audit.files)
    counts = audit.counts
    if invalid := sum(bool(file.fault) for file in audit.files):
        counts["invalid"] = invalid
    of_files = f"of {total:,} {'file' if total == 1 else 'files'}"
    return [f"{count:,} {of_files}: {name}." for name, count in counts.items()] or [f"0 {of_files} have a flag."]
