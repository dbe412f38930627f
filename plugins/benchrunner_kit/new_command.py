"""Command `new`: write the package of a new plugin, with tests that pass, a task's file, or a board's repository."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from benchrunner import RequestError, Workspace, print_line
from benchrunner.results import command_line
from benchrunner_kit.scaffolds.writing import SCAFFOLDS, write_plugin


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `new`."""
    parser.add_argument("kind", choices=tuple(SCAFFOLDS), help="what it is; board is a repository for results")
    # a list, because words of a list may stand behind an option
    parser.add_argument("name", nargs="*", metavar="NAME", help="its name: lower-case letters, digits and underscores")
    parser.add_argument(
        "--from",
        dest="data",
        type=Path,
        metavar="FILE",
        help="with 'task': write no package but NAME.toml beside this table (CSV, TSV, JSON lines, Parquet), whose "
        "texts and labels are guessed",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder to write, which must not exist (default: NAME)")
    command_line.options.add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the package or the task file, and print what to do next."""
    if len(arguments.name) > 1:
        raise RequestError(f"Give one name, not {', '.join(arguments.name)}.")
    arguments.name = "".join(arguments.name)
    if arguments.data is not None:
        return _write_task_file(arguments)
    if not arguments.name:
        raise RequestError(f"Give the name of the new {arguments.kind}: 'benchrunner new {arguments.kind} NAME'.")
    folder = write_plugin(
        arguments.kind,
        arguments.name,
        arguments.out or Path(arguments.name),
        plugins=arguments.plugins,
        commands=arguments.commands,
    )
    files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    if arguments.json:
        command_line.output.print_json({"folder": str(folder), "files": files})
        return command_line.output.DONE
    print_line(f"{folder} holds {SCAFFOLDS[arguments.kind].about}, in {len(files)} files. Try it:")
    for line in (f"cd {shlex.quote(str(folder))}", *SCAFFOLDS[arguments.kind].first_steps):
        print_line(f"  {line.replace('NAME', arguments.name)}")
    print_line("README.md says what to change, and how to check it.")
    return command_line.output.DONE


def _write_task_file(arguments: argparse.Namespace) -> int:
    """Guess a task from a data file and write its TOML file; print what was guessed."""
    from benchrunner_files import guessed
    from benchrunner_tasks import data_checks

    if arguments.kind != "task":
        raise RequestError(f"--from is for a task: 'benchrunner new task --from {arguments.data}'.")
    if arguments.out is not None:
        raise RequestError("The task file stands beside its data: leave --out out, and give a NAME.")
    guess = guessed(arguments.data)
    path = guess.write(arguments.data, arguments.name)
    for status in data_checks.data_status([arguments.plugins.tasks.find(str(path))], Workspace.from_environment()):
        guess.notes += status.faults
    if arguments.json:
        command_line.output.print_json({"file": path, "text": guess.text, "notes": guess.notes})
        return command_line.output.DONE
    print_line(f"{path} is a task, guessed from {arguments.data}:")
    for line in guess.text.splitlines():
        print_line(f"  {line}")
    for note in guess.notes:
        print_line(f"look at this: {note}")
    backbone = "B" if "dev" in guess.keys["splits"] else "B --folds 5"
    print_line(
        f"Try it: benchrunner run {shlex.quote(str(path))} --backbone {backbone}; few rows need --epochs 20 or so"
    )
    return command_line.output.DONE
