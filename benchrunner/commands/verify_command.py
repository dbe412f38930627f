"""Command `verify`: compute every score of a shared folder again, and say what differs."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner.command_line import options
from benchrunner.command_line.output import DONE, FAILED, print_json, reserved_for_json
from benchrunner.console.printing import print_line


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `verify`."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that 'benchrunner share' wrote")
    options.add_data(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what differs; exit code 1 if anything differs or could not be verified."""
    from benchrunner.sharing import statements
    from benchrunner.sharing.verify import verify_folder

    arguments.runs = None
    with reserved_for_json(arguments.json):
        verified = verify_folder(arguments.folder, arguments.plugins, options.workspace(arguments))
    if arguments.json:
        print_json(verified)
        return DONE if verified.is_equal else FAILED
    for finding in (*verified.differences, *verified.unverified):
        print_line(finding)
    for remark in verified.remarks:
        print_line(f"Remark: {remark}")
    counted = (
        f"{verified.scores:,} scores of predictions and {verified.figures:,} figures over restarts were computed again "
        f"from {verified.answers:,} answers"
    )
    if not verified.is_equal:
        count = len(verified.differences)
        absent = len(verified.unverified)
        found = [f"{count:,} {'thing differs' if count == 1 else 'things differ'}"] if count or not absent else []
        found += [f"{absent:,} {'thing' if absent == 1 else 'things'} could not be computed here"] if absent else []
        print_line(f"{arguments.folder}: {'; '.join(found)}. {counted}.")
        return FAILED
    print_line(f"{arguments.folder}: everything is equal. {counted}.")
    print_line(f"Fingerprint: {verified.fingerprint}")
    print_line(statements.FINGERPRINT_USE)
    for line in statements.lines():
        print_line(line)
    return DONE
