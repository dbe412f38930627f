"""Command `submit`: write a submission to a leaderboard, from new fits or from finished runs."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import RequestError, print_line
from benchrunner.results import command_line

if TYPE_CHECKING:
    from benchrunner.results import Result, comparison
    from benchrunner_submit.leaderboard import Leaderboard
    from benchrunner_submit.submissions.submission import Submission


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `submit`."""
    options = command_line.options
    parser.add_argument("board", metavar="BOARD", help="a leaderboard of 'benchrunner list leaderboards'")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--backbone", metavar="B", help=options.BACKBONES)
    source.add_argument(
        "--ensemble", nargs="+", metavar="RUN", help="finished fits; those of one task answer it together"
    )
    source.add_argument("--study", metavar="NAME", help="a kept study of 'benchrunner runs studies': its selected fits")
    parser.add_argument("--of", metavar="B", help="with --study: which of its backbones or systems answers")
    parser.add_argument("--tasks", nargs="+", metavar="TASK", help="answer only these tasks; the rest must be filled")
    parser.add_argument(
        "--fill", choices=("majority",), help="answer missing tasks by the majority; the manifest says so"
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="leave out the files of missing tasks: for boards that take parts, and to see what there is; the name of "
        "the archive and the manifest say so",
    )
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="PATH", help="the archive, or a folder for it (default: .)"
    )
    parser.add_argument(
        "--notes", action="store_const", const="", default="--notes", help="print all notes on the fits, not five lines"
    )
    options.add_published(parser)
    options.add_recipe(parser)
    options.add_workspace(parser)
    options.add_computing(parser)
    options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the submission; exit code 1 if the leaderboard would not accept it."""
    from benchrunner_submit.submissions.submission import write_submission

    options, output = command_line.options, command_line.output
    board = arguments.plugins.leaderboards.find(arguments.board)
    if arguments.published is not None and arguments.backbone is None:
        raise RequestError("Finished runs have no table that --published could stand in: leave it out.")
    published = options.published(arguments, [arguments.backbone] if arguments.backbone else [])
    runner = options.runner(arguments)
    runs = _runs(arguments, board, runner.workspace.runs)
    chosen = options.study_options(arguments)
    if chosen.folds is not None:
        raise RequestError("A submission is answered by a fit to all rows: leave --folds out.")
    submission = write_submission(
        board,
        arguments.out,
        runner,
        backbone=arguments.backbone,
        ensemble=runs,
        tasks=options.tasks(arguments, arguments.tasks) if arguments.tasks else None,
        fill=arguments.fill is not None,
        partial=arguments.partial,
        options=chosen,
        executor=options.executor(arguments),
        show_progress=not arguments.quiet,
        on_result=partial(_print_result, arguments, published),
    )
    if arguments.json:
        output.print_json(submission.as_json(published))
    else:
        _print(submission)
    return output.FAILED if submission.faults else output.DONE


def _print_result(arguments: argparse.Namespace, published: comparison.PublishedChoice, result: Result) -> None:
    """Print the table of the fits that answer, unless standard output is for JSON."""
    if not arguments.json:
        command_line.output.print_result(result, published, notes_by=arguments.notes)


def _runs(arguments: argparse.Namespace, board: Leaderboard, runs: Path) -> list[str]:
    """Return the finished runs that answer; a kept study may name them."""
    from benchrunner.results import find_study
    from benchrunner_submit.submissions.gaps import task_names

    if arguments.study is None:
        if arguments.of is not None:
            raise RequestError("--of chooses a backbone of a kept study: give the study's name with --study.")
        return arguments.ensemble or []
    study = find_study(runs, arguments.study)
    limit = study.study.limit_dev
    if limit is not None:
        raise RequestError(
            f"The study {study.name} selected its fits on {limit:,} rows of dev only (--limit-dev). Repeat it without "
            "--limit-dev, which fits nothing again, and submit that."
        )
    if any(cell.candidates[0].fits[0].folds for cell in study.cells if cell.candidates):
        raise RequestError(
            f"The study {study.name} is cross-validated: none of its fits has learned from all rows. Repeat it without "
            "--folds, and submit that."
        )
    return study.runs_for(task_names(board), arguments.of)


def _print(submission: Submission) -> None:
    """Print what is filled, faults, remarks and where the submission is."""
    from benchrunner_submit.submission_files.manifests import manifest_path

    board = submission.board
    for file in submission.manifest.filled:
        print_line(f"  {file.file} holds majority answers, not a model's: {file.filled}")
    for fault in submission.faults:
        print_line(fault)
    for remark in submission.remarks:
        print_line(remark)
    if not submission.faults:
        manifest = f"{manifest_path(submission.path)} says where each file came from"
        print_line(f"{submission.path} {_verdict(submission)} {board.name}; {manifest}.")
        print_line(f"The leaderboard: {board.url}")
    if board.note:
        print_line(board.note)


def _verdict(submission: Submission) -> str:
    """Say of a submission without faults whether all of it is there, and answered by models of all rows."""
    if submission.manifest.missing:
        return "holds what there is for"
    return (
        "has every file, but read the remarks above before you hand it in to" if submission.remarks else "is ready for"
    )
