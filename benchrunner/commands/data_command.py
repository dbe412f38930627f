"""Command `data`: show where the data of each task was found, and whether it can be used."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchrunner.command_line import options
from benchrunner.command_line.output import DONE, FAILED, print_json
from benchrunner.console.printing import print_line, print_note

if TYPE_CHECKING:
    from benchrunner.tasks.data_status import SplitStatus

_REASON = "\n  - "
"""What stands before each reason why data was not found."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `data`."""
    parser.add_argument(
        "action", choices=("status", "fetch"), help="status looks only on this machine; fetch downloads what is missing"
    )
    tasks = parser.add_argument("tasks", nargs="*", metavar="TASK", help="only these tasks")
    tasks.required = False  # argparse would list TASK among what is missing
    options.add_workspace(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the status of every split; exit code 1 if data cannot be used, or if fetch did not find it."""
    from benchrunner.tasks.data_status import data_status

    fetch = arguments.action == "fetch"
    arguments.offline = arguments.offline or not fetch
    workspace = options.workspace(arguments)
    tasks = options.tasks(arguments, arguments.tasks) if arguments.tasks else arguments.plugins.tasks.values()
    splits = data_status(tasks, workspace)
    if arguments.json:
        print_json(splits)
    else:
        for status in splits:
            print_line(_line(status, fetch=fetch))
        if any(status.is_missing for status in splits):
            advice = f"Put the missing files below {workspace.data}, or name another folder with --data DIR"
            if workspace.data is None:
                advice = "No data folder was searched, as none is named: give --data DIR for files"
            hub = "" if fetch else ", or run 'benchrunner data fetch' to ask the hub"
            print_note(f"{advice}{hub}.")
    wrong = any(status.rows is None and (fetch or not status.is_missing) for status in splits)
    return FAILED if wrong else DONE


def _line(status: SplitStatus, *, fetch: bool) -> str:
    name = f"{status.task} {status.split}"
    if status.rows is None:
        if status.is_missing and not fetch:
            return f"{name:<28} not found: {'; '.join(status.problem.split(_REASON)[1:])}"
        return f"{name:<28} {status.problem}"
    notes = "".join(f"; {note}" for note in status.notes)
    return f"{name:<28} {status.rows:>9,} rows  {status.fingerprint[:12]}  {status.origin}{notes}"
