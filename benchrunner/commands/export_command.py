"""Command `export`: write a finished fit as a checkpoint that other libraries load."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchrunner.commands import options
from benchrunner.commands.output import DONE
from benchrunner.commands.parser import Commands


def add(commands: Commands) -> None:
    """Add the command `export` to the command line."""
    parser = commands.add_parser("export", help="write a finished fit as a checkpoint that other libraries load")
    parser.add_argument(
        "source",
        metavar="RUN",
        help="a fit's id or the beginning of it, or the folder of a checkpoint as a trainer left it",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that does not exist yet")
    options.add_workspace(parser)
    options.add_computing(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the checkpoint."""
    from benchrunner.runs.answering import export, is_checkpoint_folder

    converted = is_checkpoint_folder(arguments.source)
    export(arguments.source, arguments.folder, options.runner(arguments))
    content = "the model in its published layout"
    if not converted:
        content = "the encoder and its head in the backbone's published layout"
    print(f"{arguments.folder} holds {content}.")
    return DONE
