"""Command `export`: write a finished fit as a checkpoint that other libraries load."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner import print_line
from benchrunner.results import command_line


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `export`."""
    parser.add_argument(
        "source",
        metavar="RUN",
        help="a fit's id or the beginning of it, or the folder of a checkpoint as a trainer left it",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that does not exist yet")
    command_line.options.add_workspace(parser)
    command_line.options.add_computing(parser)
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the checkpoint."""
    from benchrunner_runs.exporting import export, is_checkpoint_folder

    converted = is_checkpoint_folder(arguments.source)
    export(arguments.source, arguments.folder, command_line.options.runner(arguments))
    if arguments.json:
        folder: Path = arguments.folder
        files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        kind = "checkpoint" if converted else "fit"
        command_line.output.print_json(
            {"source": arguments.source, "kind": kind, "folder": str(folder), "files": files}
        )
        return command_line.output.DONE
    content = "the model in its published layout"
    if not converted:
        content = "the encoder and its head in the backbone's published layout"
    print_line(f"{arguments.folder} holds {content}.")
    return command_line.output.DONE
