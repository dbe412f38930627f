"""Command `share`: write a kept study to a folder that anybody verifies."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner import RequestError, print_line
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
    parser.add_argument(
        "--push", metavar="OWNER/NAME", help="say what would be uploaded to this data set of the hub; with --yes, do it"
    )
    parser.add_argument("--force", action="store_true", help="replace a shared folder that has other contents")
    parser.add_argument("--yes", action="store_true", help="upload what --push names")
    command_line.options.add_workspace(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the folder, and print its fingerprint."""
    from benchrunner.results import Runner
    from benchrunner_share.documents import statements
    from benchrunner_share.pushing import Push, uploaded
    from benchrunner_share.share import share_study

    options, output = command_line.options, command_line.output
    _check_push(arguments)
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
    push = None
    if arguments.push is not None:
        push = Push.plan(shared.folder, arguments.push, shared.verification.fingerprint)
        push = uploaded(push) if arguments.yes else push
    if arguments.json:
        output.print_json({**shared.as_json(), "push": push})
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
    print_line("Nothing was uploaded." if push is None else push.sentence)
    print_line(f"Fingerprint: {verified.fingerprint}")
    print_line(f"Whoever has the data verifies the folder with 'benchrunner check {shared.folder} --data DIR'.")
    print_line(statements.FINGERPRINT_ADVICE)
    return output.DONE


def _check_push(arguments: argparse.Namespace) -> None:
    """Raise a `RequestError` before anything is written if the upload that is asked for cannot be."""
    from benchrunner_share.pushing import check_repository

    if arguments.push is None:
        if arguments.yes:
            raise RequestError("--yes is for an upload: name the data set with --push OWNER/NAME.")
        return
    check_repository(arguments.push)
    if arguments.yes and arguments.offline:
        raise RequestError("--push --yes uploads, and --offline never asks the hub: leave one of them out.")
