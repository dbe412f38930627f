"""Command `check`: report every fault of a submission, whoever wrote it."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner import print_line, print_note
from benchrunner.results import command_line


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="an archive, a folder of its files, or one of its files"
    )
    parser.add_argument(
        "--board", metavar="BOARD", help="the leaderboard (default: recognised by the names of the files)"
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of raw data files: ids and words are compared with its rows"
    )
    parser.add_argument("--gold", type=Path, metavar="FILE", help="file of the rows, in the task's own layout")
    parser.add_argument(
        "--counts-from-manifest",
        action="store_true",
        help="expect the row counts of FILE.json beside FILE, not the official ones: for archives of demo data",
    )
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print every fault; exit code 1 if there is one."""
    from benchrunner_submit.submissions.submission_check import check_submission

    output = command_line.output
    plugins = arguments.plugins
    path = arguments.file
    checked = check_submission(
        path,
        plugins,
        board=plugins.leaderboards.find(arguments.board) if arguments.board else None,
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
    if checked.faults:
        noun = "problems" if len(checked.faults) > 1 else "problem"
        print_line(f"{path}: {len(checked.faults)} {noun}; {board.name} would not accept it as meant.")
        return output.FAILED
    counts = "" if checked.official_counts else " (with the manifest's row counts, not the official)"
    if checked.remarks:
        print_line(f"{path} has the form of a valid {board.name} submission{counts}, but:")
        for remark in checked.remarks:
            print_line(f"  - {remark}")
    else:
        print_line(f"{path} is a valid {board.name} submission{counts}.")
    for sentence in checked.unchecked:
        print_line(sentence)
    if any("compared" in sentence for sentence in checked.unchecked):
        print_line("Give --data DIR or --gold FILE to compare with the rows.")
    if board.note:
        print_line(board.note)
    return output.DONE
