"""Command `new`: write the package of a new plugin, with tests that pass."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from benchrunner import print_line
from benchrunner.results import command_line
from benchrunner_kit.scaffolds.writing import SCAFFOLDS, write_plugin


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `new`."""
    parser.add_argument("kind", choices=tuple(SCAFFOLDS), help="what the plugin offers")
    parser.add_argument("name", metavar="NAME", help="its name: lower-case letters, digits and underscores")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write, which must not exist (default: NAME)")
    command_line.options.add_json(parser, "print the folder and its files as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Write the package, and print what to do next."""
    folder = write_plugin(
        arguments.kind,
        arguments.name,
        Path(arguments.name) if arguments.out is None else arguments.out,
        plugins=arguments.plugins,
        commands=arguments.commands,
    )
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    if arguments.json:
        command_line.output.print_json({"folder": str(folder), "files": files})
        return command_line.output.DONE
    print_line(f"{folder} holds {SCAFFOLDS[arguments.kind].about}, in {len(files)} files. Try it:")
    shown_by = SCAFFOLDS[arguments.kind].shown_by.replace("NAME", arguments.name)
    for line in (f"cd {shlex.quote(str(folder))}", "pip install -e . pytest", "pytest", shown_by):
        print_line(f"  {line}")
    print_line("README.md says what to change, and how to check it.")
    return command_line.output.DONE
