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
        help="the folder to write; a shared folder with other contents is only replaced with --force",
    )
    parser.add_argument("--url", metavar="URL", help="where you will publish the folder, for the metadata")
    parser.add_argument(
        "--with-rows",
        action="store_true",
        help="write rows of the data with their texts into the report: only where the licence of the data allows it",
    )
    parser.add_argument("--force", action="store_true", help="replace a shared folder that has other contents")
    command_line.options.add_workspace(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the folder, and print its fingerprint."""
    from benchrunner.results import Runner
    from benchrunner_share.documents import statements
    from benchrunner_share.share import share_study

    options, output = command_line.options, command_line.output
    runner = Runner(arguments.plugins, options.workspace(arguments))
    study = options.kept_result(arguments, runner)
    shared = share_study(
        study,
        arguments.out,
        runner,
        url=arguments.url,
        with_rows=arguments.with_rows,
        force=arguments.force,
    )
    if arguments.json:
        output.print_json(shared.as_json())
        return output.DONE
    verified = shared.verification
    print_line(
        f"{shared.folder} holds {shared.files:,} files of the study {verified.name}. {verified.scores:,} scores were "
        f"computed again from {verified.answers:,} answers, and are equal."
    )
    rows = "report.html shows texts of the data" if arguments.with_rows else "Texts of the data are left out"
    print_line(f"{rows}, and folders of this machine are left out.")
    if verified.sealed:
        print_line(
            f"The answers to {', '.join(verified.sealed)} are sealed: whoever has the labels scores them by verifying "
            "the folder."
        )
    print_line(f"Fingerprint: {verified.fingerprint}")
    print_line(f"Whoever has the data verifies the folder with 'benchrunner check {shared.folder} --data DIR'.")
    print_line(statements.FINGERPRINT_ADVICE)
    return output.DONE
