"""Command `share`: write a kept study to a folder that anybody verifies."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner.commands import options
from benchrunner.commands.output import DONE, print_json, reserved_for_json
from benchrunner.commands.parser import Commands


def add(commands: Commands) -> None:
    """Add the command `share` to the command line."""
    share = commands.add_parser(
        "share", help="write a kept study to a folder that anybody verifies, with metadata for model cards; no upload"
    )
    share.add_argument("study", metavar="STUDY", help="name of a kept study, see 'benchrunner runs'")
    share.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder to write; it must be new")
    share.add_argument(
        "--url", metavar="URL", help="where you will publish the folder, for the metadata of model cards"
    )
    options.add_workspace(share)
    options.add_json(share)
    share.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the folder, and print its fingerprint."""
    from benchrunner.runs.runner import Runner
    from benchrunner.sharing import statements
    from benchrunner.sharing.share import share_results
    from benchrunner.studies.study import Result
    from benchrunner.study_files.kept_study_file import read_study

    runner = Runner(arguments.plugins, options.workspace(arguments))
    with reserved_for_json(arguments.json):
        study = read_study(arguments.study, runner)
        results = (study,) if isinstance(study, Result) else study.results
        shared = share_results(results, arguments.out, runner, name=arguments.study, url=arguments.url)
    if arguments.json:
        print_json(shared.as_json())
        return DONE
    verified = shared.verification
    print(
        f"{shared.folder} holds {shared.files:,} files of the study {verified.name}. {verified.scores:,} scores were "
        f"computed again from {verified.answers:,} answers, and are equal."
    )
    print("Texts of the data and folders of this machine are left out. Nothing was uploaded.")
    print(f"Fingerprint: {verified.fingerprint}")
    print(f"Whoever has the data verifies the folder with 'benchrunner verify {shared.folder} --data DIR'.")
    print(statements.FINGERPRINT_ADVICE)
    return DONE
