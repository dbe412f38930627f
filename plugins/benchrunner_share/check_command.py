"""Command `check`: report every fault of a submission, of a shared folder or of a task file, whoever wrote it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchrunner import RequestError, print_line, print_note
from benchrunner.results import command_line


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    parser.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="an archive, a folder of its files, one of its files, a folder that 'benchrunner share' wrote, or a task "
        "file, of which the data is judged",
    )
    command_line.options.add_data(parser)
    command_line.options.add_json(parser)
    submission = parser.add_argument_group("submissions")
    submission.add_argument(
        "--board", metavar="BOARD", help="the leaderboard (default: recognised by the names of the files)"
    )
    submission.add_argument("--gold", type=Path, metavar="FILE", help="file of the rows, in the task's own layout")
    submission.add_argument(
        "--counts-from-manifest",
        action="store_true",
        help="expect the row counts of FILE.json beside FILE, not the official ones: for archives of demo data",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print every fault, or what differs in a shared folder; exit code 1 if there is anything."""
    from benchrunner_share.documents.contents import STUDY

    if arguments.file.suffix == ".toml":
        return _check_task(arguments)
    is_shared = os.path.lexists(arguments.file / STUDY)  # a damaged or linked file is a fault that is told
    return _check_shared(arguments) if is_shared else _check_submission(arguments)


def _check_task(arguments: argparse.Namespace) -> int:
    """Print why the data of a task file cannot be used, or what makes scores doubtful."""
    from benchrunner_tasks import data_checks

    options, output = command_line.options, command_line.output
    arguments.runs = None
    task = arguments.plugins.tasks.find(str(arguments.file))
    splits = data_checks.data_status([task], options.workspace(arguments))
    faults = [fault for status in splits for fault in status.faults]
    if arguments.json:
        output.print_json(splits)
    else:
        for fault in faults or ["the data can be used, and nothing makes scores doubtful"]:
            print_line(f"{arguments.file}: {fault.rstrip('.')}.")
    return output.FAILED if faults else output.DONE


def _check_submission(arguments: argparse.Namespace) -> int:
    """Print every fault of a submission."""
    from benchrunner_submit import check_submission

    output = command_line.output
    path = arguments.file
    checked = check_submission(
        path,
        arguments.plugins,
        board=arguments.plugins.leaderboards.find(arguments.board) if arguments.board else None,
        data=arguments.data,
        gold=arguments.gold,
        counts_from_manifest=arguments.counts_from_manifest,
    )
    if arguments.json:
        output.print_json(checked)
        return output.FAILED if checked.faults else output.DONE
    board = checked.board
    for reason in checked.not_found:
        print_note(reason)
    for fault in checked.faults:
        print_line(fault)
    for remark in checked.remarks:
        print_line(f"Remark: {remark}")
    if checked.faults:
        noun = "problems" if len(checked.faults) > 1 else "problem"
        print_line(f"{path}: {len(checked.faults)} {noun}; {board.name} would not accept it as meant.")
        return output.FAILED
    counts = "" if checked.official_counts else " (with the manifest's row counts, not the official)"
    if checked.remarks:
        print_line(f"{path} has the form of a valid {board.name} submission{counts}, but read the remarks above.")
    else:
        print_line(f"{path} is a valid {board.name} submission{counts}.")
    for sentence in checked.unchecked:
        print_line(sentence)
    if any("compared" in sentence for sentence in checked.unchecked):
        print_line("Give --data DIR or --gold FILE to compare with the rows.")
    if board.note:
        print_line(board.note)
    return output.DONE


def _check_shared(arguments: argparse.Namespace) -> int:
    """Compute every score of a shared folder again, and print what differs or could not be verified."""
    from benchrunner_share.documents import statements
    from benchrunner_share.verifying.verify import verify_folder

    if arguments.board or arguments.gold or arguments.counts_from_manifest:
        raise RequestError(f"{arguments.file} is a shared study: leave out --board, --gold and --counts-from-manifest.")
    options, output = command_line.options, command_line.output
    arguments.runs = None
    verified = verify_folder(arguments.file, arguments.plugins, options.workspace(arguments))
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
        print_line(f"{arguments.file}: {found}. {counted}.")
        return output.FAILED
    print_line(f"{arguments.file}: everything is equal. {counted}.")
    print_line(f"Fingerprint: {verified.fingerprint}")
    print_line(statements.FINGERPRINT_USE)
    for line in statements.lines():
        print_line(line)
    return output.DONE
