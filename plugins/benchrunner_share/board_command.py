"""Command `board`: verify shared folders, and write the site of a board from those in which nothing differs."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner import RequestError, print_line
from benchrunner.results import command_line


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `board`."""
    actions = parser.add_subparsers(metavar="ACTION", title="actions", required=True)
    about = "verify every folder in RESULTS, and write a static site with the verdict over all systems"
    _add_build(actions.add_parser("build", help=about))


def _add_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "results", type=Path, metavar="RESULTS", help="a folder of folders that 'benchrunner share' wrote"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="the folder to write; an older site there is replaced"
    )
    parser.add_argument("--title", default="", metavar="TEXT", help="title of the board (default: Board)")
    parser.add_argument(
        "--tasks",
        nargs="+",
        metavar="TASK",
        help="the tasks of the board (default: those of more than half of the folders)",
    )
    parser.add_argument(
        "--split",
        metavar="A,B",
        help="rank by these test splits instead of dev, in the tasks that have them: your data has the labels",
    )
    parser.add_argument(
        "--against",
        metavar="SYSTEM",
        help="compare all systems with this one only, by fewer tests, instead of every two with each other",
    )
    parser.add_argument(
        "--with-rows",
        action="store_true",
        help="show texts and gold answers of your data: only where they may be public",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit with 1 if a folder is refused: for a check of what is handed in"
    )
    command_line.options.add_data(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Build the site, and list the folders that were refused."""
    from benchrunner_share.board.building import Wishes, build_board

    options, output = command_line.options, command_line.output
    arguments.runs = None
    if not arguments.results.is_dir():
        reason = "this is no folder" if arguments.results.exists() else "there is no such folder"
        raise RequestError(f"RESULTS {arguments.results}: {reason}. Name the folder that holds the shared folders.")
    tasks = options.tasks(arguments, arguments.tasks) if arguments.tasks else []
    wishes = Wishes(
        title=arguments.title or "Board",
        tasks=tuple(task.name for task in tasks),
        splits=options.splits(arguments),
        against=arguments.against,
        with_rows=arguments.with_rows,
    )
    built = build_board(
        arguments.results, arguments.out, arguments.plugins, options.workspace(arguments), wishes=wishes
    )
    code = output.FAILED if built.refused and arguments.strict else output.DONE
    if arguments.json:
        output.print_json(built)
        return code
    for folder in built.refused:
        print_line(f"Refused {folder.name}: {folder.reason}")
    print_line(
        f"{built.site} holds a board of {_counted(built.systems, 'system')} on {_counted(built.tasks, 'task')}, in "
        f"{built.files:,} files: {_counted(built.accepted, 'folder')} verified, {len(built.refused):,} refused."
    )
    print_line(f"Open {built.site / 'index.html'} in a browser, or publish the folder as it is.")
    return code


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
