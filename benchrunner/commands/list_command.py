"""Command `list`: show everything that the plugins offer."""

from __future__ import annotations

import argparse

from benchrunner.commands import options
from benchrunner.commands.output import DONE, print_columns, print_json
from benchrunner.commands.parser import Commands
from benchrunner.plugins.listing import KINDS, Listed, list_offers


def add(commands: Commands) -> None:
    """Add the command `list` to the command line."""
    parser = commands.add_parser(
        "list", help="list tasks, backbones, methods, leaderboards, executors, studies and plugins"
    )
    parser.add_argument("kind", nargs="?", choices=KINDS, help="only this kind")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print what the plugins offer."""
    offers = list_offers(arguments.plugins)
    chosen = {kind: offers[kind] for kind in ([arguments.kind] if arguments.kind else KINDS)}
    if arguments.json:
        print_json({kind: [listed.as_json() for listed in values] for kind, values in chosen.items()})
        return DONE
    for kind, values in chosen.items():
        print(f"{kind}{'' if values else ': none'}")
        print_columns((listed.name, _about(listed)) for listed in values)
        if kind == "backbones":
            print("  ... and any folder or hub id (owner/name) with a checkpoint, and run:ID of a finished fit")
    return DONE


def _about(listed: Listed) -> str:
    about = listed.about
    if listed.method not in ("", "finetune"):
        about += f" [answered by '{listed.method}' unless told otherwise]"
    return f"{about} ({listed.url})" if listed.url else about
