"""Command `share`: write a kept study to a folder that anybody verifies."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner import print_line
from benchrunner.results import command_line


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `share`."""
    command_line.options.add_kept_result(parser)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="the folder to write; an older shared folder there is replaced",
    )
    parser.add_argument(
        "--url", metavar="URL", help="where you will publish the folder, for the metadata of model cards"
    )
    parser.add_argument(
        "--with-rows",
        action="store_true",
        help="show rows of the data in the report, with their texts: only where the licence of the data allows it",
    )
    command_line.options.add_workspace(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the folder, and print its fingerprint."""
    from benchrunner.results import Runner
    from benchrunner_share.documents import statements
    from benchrunner_share.share import share_study

    options, output = command_line.options, command_line.output
    runner = Runner(arguments.plugins, options.workspace(arguments))
    with output.reserved_for_json(arguments.json):
        study = options.kept_result(arguments, runner)
        shared = share_study(study, arguments.out, runner, url=arguments.url, with_rows=arguments.with_rows)
    if arguments.json:
        output.print_json(shared)
        return output.DONE
    verified = shared.verification
    print_line(
        f"{shared.folder} holds {shared.files:,} files of the study {verified.name}. {verified.scores:,} scores were "
        f"computed again from {verified.answers:,} answers, and are equal."
    )
    rows = "report.html shows texts of the data" if arguments.with_rows else "Texts of the data are left out"
    print_line(f"{rows}, and folders of this machine are left out. Nothing was uploaded.")
    print_line(f"Fingerprint: {verified.fingerprint}")
    print_line(f"Whoever has the data verifies the folder with 'benchrunner verify {shared.folder} --data DIR'.")
    print_line(statements.FINGERPRINT_ADVICE)
    return output.DONE
