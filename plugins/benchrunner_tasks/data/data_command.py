"""Command `data`: show where the data of each task was found, and whether it can be used."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import print_line, print_note
from benchrunner.results import command_line

if TYPE_CHECKING:
    from benchrunner_tasks.data.data_checks import SplitStatus


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `data`."""
    parser.add_argument(
        "action", choices=("status", "fetch"), help="status looks only on this machine; fetch downloads what is missing"
    )
    # with a default, argparse does not list TASK among what is missing
    parser.add_argument("tasks", nargs="*", default=[], metavar="TASK", help="only these tasks")
    command_line.options.add_workspace(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the status of every split; exit code 1 if data cannot be used, or if fetch did not find it."""
    from benchrunner_tasks.data.data_checks import data_status

    options, output = command_line.options, command_line.output
    fetch = arguments.action == "fetch"
    arguments.offline = arguments.offline or not fetch
    workspace = options.workspace(arguments)
    tasks = options.tasks(arguments, arguments.tasks) if arguments.tasks else arguments.plugins.tasks.values()
    splits = data_status(tasks, workspace)
    faults = [status for status in splits if status.rows is None and (fetch or not status.missing)]
    if arguments.json:
        output.print_json(splits)
    else:
        shown = splits
        if not arguments.tasks and not fetch:
            shown = [status for status in splits if status.faults and not status.missing]
            absent = {status.task for status in splits if status.rows is None}
            ready = [task.name for task in tasks if task.name not in absent]
            print_line(f"ready: {', '.join(ready) or 'no task'}")
            print_line(f"not ready: {len(absent):,} other tasks; 'benchrunner data status TASK' says why")
        for status in shown:
            print_line(_line(status, workspace.data))
        if any(status.missing for status in splits):
            hub = "" if fetch else ", or run 'benchrunner data fetch' to ask the hub"
            print_note(f"Put the missing files below {workspace.data or 'a folder, and give --data FOLDER'}{hub}.")
    return output.FAILED if faults else output.DONE


def _line(status: SplitStatus, folder: Path | None) -> str:
    name = f"{status.task} {status.split}"
    if status.rows is None:
        if status.missing:
            reasons = "; ".join(status.problem.split("\n  - ")[1:])
            return f"{name:<28} not found: {reasons}{_hint(reasons, folder)}"
        return f"{name:<28} {status.problem}"
    notes = "".join(f"; {note}" for note in (*status.faults, *status.notes))
    return f"{name:<28} {status.rows:>9,} rows  {status.sha256[:12]}  {status.origin}{notes}"


def _hint(reasons: str, folder: Path | None) -> str:
    """Name the file that was looked for, if it is there with other capitals, or as the hub names a dev split."""
    searched = f"{reasons} ".lower()
    for place in folder.glob("*") if folder is not None else ():
        if str(place).lower() in searched:
            for path in place.glob("*"):
                if f"{path} ".lower().replace("validation", "dev") in searched:
                    return f". Is it {path}?"
    return ""
