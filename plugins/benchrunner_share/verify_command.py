"""Command `verify`: compute every score of a shared folder again, and say what differs."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner import print_line
from benchrunner.results import command_line


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `verify`."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that 'benchrunner share' wrote")
    command_line.options.add_data(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print what differs; exit code 1 if anything differs or could not be verified."""
    from benchrunner_share.documents import statements
    from benchrunner_share.verifying.verify import verify_folder

    options, output = command_line.options, command_line.output
    arguments.runs = None
    verified = verify_folder(arguments.folder, arguments.plugins, options.workspace(arguments))
    if arguments.json:
        output.print_json(verified)
        return output.DONE if verified.is_equal else output.FAILED
    for finding in (*verified.differences, *verified.unverified):
        print_line(finding)
    for remark in verified.remarks:
        print_line(f"Remark: {remark}")
    if verified.sealed:
        print_line(f"Not scored, because there are no labels here: the answers to {', '.join(verified.sealed)}.")
    for score in verified.opened if verified.is_equal else ():
        place = f"{score.system} on {score.task} ({score.method}), {score.split} {score.metric}"
        number = len(score.figure.values)
        restarts = f"{number} restart{'s' * (number != 1)}"
        print_line(f"{place}: {score.figure.mean_text} ({restarts}), by your labels, which the sender did not have.")
    counted = (
        f"{verified.scores:,} scores of predictions and {verified.figures:,} figures over restarts were computed again "
        f"from {verified.answers:,} answers"
    )
    if not verified.is_equal:
        found = f"differences: {len(verified.differences):,}; not computed here: {len(verified.unverified):,}"
        print_line(f"{arguments.folder}: {found}. {counted}.")
        return output.FAILED
    print_line(f"{arguments.folder}: everything is equal. {counted}.")
    print_line(f"Fingerprint: {verified.fingerprint}")
    print_line(statements.FINGERPRINT_USE)
    for line in statements.lines():
        print_line(line)
    return output.DONE
