"""Command `data`: show where the data of each task was found, and whether it can be used."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from benchrunner.command_line import options
from benchrunner.command_line.output import DONE, FAILED, print_json
from benchrunner.console.printing import print_line, print_note

if TYPE_CHECKING:
    from benchrunner.tasks.data_status import SplitStatus


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `data`."""
    parser.add_argument(
        "action", choices=("status", "fetch"), help="status looks only on this machine; fetch downloads what is missing"
    )
    # with a default, argparse does not list TASK among what is missing
    parser.add_argument("tasks", nargs="*", default=[], metavar="TASK", help="only these tasks")
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
    faults = [status for status in splits if status.rows is None and (fetch or not status.is_missing)]
    if arguments.json:
        print_json(splits)
    else:
        shown = splits
        if not arguments.tasks and not fetch:
            shown = faults
            absent = {status.task for status in splits if status.rows is None}
            ready = [task.name for task in tasks if task.name not in absent]
            print_line(f"ready: {', '.join(ready) or 'no task'}")
            print_line(f"not ready: {len(absent):,} other tasks; 'benchrunner data status TASK' says why")
        for status in shown:
            print_line(_line(status))
        if any(status.is_missing for status in splits):
            hub = "" if fetch else ", or run 'benchrunner data fetch' to ask the hub"
            print_note(f"Put the missing files below {workspace.data or 'a folder, and give --data FOLDER'}{hub}.")
    return FAILED if faults else DONE


def _line(status: SplitStatus) -> str:
    name = f"{status.task} {status.split}"
    if status.rows is None:
        if status.is_missing:
            reasons = "; ".join(status.problem.split("\n  - ")[1:])
            return f"{name:<28} not found: {reasons}"
        return f"{name:<28} {status.problem}"
    notes = "".join(f"; {note}" for note in status.notes)
    return f"{name:<28} {status.rows:>9,} rows  {status.fingerprint[:12]}  {status.origin}{notes}"
